// Whether a pipeline may run a plan: what neither the plan (types/plan_check.h) nor its container
// tells.
#pragma once

#include "base/result.h"
#include "types/compute_type.h"
#include "types/plan.h"

namespace sti {

/// Returns UsageError unless `plan` counts on products of this type, or does not say. Thread-safe.
[[nodiscard]] Status CheckPlanComputes(const Plan& plan, ComputeType type);

}  // namespace sti
