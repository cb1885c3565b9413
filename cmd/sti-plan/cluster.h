// sti-plan --cluster: a model that is split over devices.
#pragma once

#include "base/result.h"
#include "common/tool.h"
#include "options.h"

namespace sti {

/// Makes a plan with stages for a cluster, or judges one, and prints what is asked for. Returns the
/// exit code.
Result<int> PlanCluster(const Tool& tool, const PlanOptions& options);

}  // namespace sti
