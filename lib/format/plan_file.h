// The plan file, binary or JSON (spec/plan.md). Functions are thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/unknown_keys.h"
#include "types/plan.h"

namespace sti {

/// Reads either spelling. kData naming `name` and what is wrong: bytes that are no plan, or the
/// first fault that FindPlanFault finds within the limits of the format.
Result<Plan> ParsePlan(std::span<const uint8_t> bytes, const std::string& name);

/// The same, and adds the fields of the JSON spelling that are unknown; `unknown` may be null.
Result<Plan> ParsePlanNoting(std::span<const uint8_t> bytes, const std::string& name,
                             UnknownKeys* unknown);

/// The binary spelling. The same bytes for the same value.
std::vector<uint8_t> EncodePlan(const Plan& plan);

/// Returns the digest of a plan as it is stored: equal for equal plans.
Digest DigestOfPlan(const Plan& plan);

/// The JSON spelling. The same bytes for the same value.
std::string PlanToJson(const Plan& plan);

}  // namespace sti
