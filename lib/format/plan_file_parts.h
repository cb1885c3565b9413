// A plan file has two spellings, binary and JSON. This file holds what their readers and writers
// share. Internal to lib/format. Functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/unknown_keys.h"
#include "types/plan.h"

namespace sti {

/// Returns an error about the plan in `name`, whose remedy is to correct it or to plan again.
Error PlanError(const std::string& name, const std::string& problem);

/// Sets the strategy that a plan file names.
void SetStrategy(std::string name, Plan* plan);

/// Read a plan in one spelling; `name` is for messages. Its rows have one length, and its sizes are
/// bounded by that of the file, but its rules are not checked (FindPlanFault). `unknown` may be
/// null.
Result<Plan> PlanFromBinary(std::span<const uint8_t> bytes, const std::string& name);
Result<Plan> PlanFromJson(std::span<const uint8_t> bytes, const std::string& name,
                          UnknownKeys* unknown);

/// Return the payload of the binary spelling, and the object of the JSON one.
std::vector<uint8_t> PlanPayload(const Plan& plan);
nlohmann::ordered_json PlanJson(const Plan& plan);

}  // namespace sti
