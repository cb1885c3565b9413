// Cores and threads of a run: a plan counts on those that were profiled, so a run takes them unless
// it is told otherwise.
#pragma once

#include <cstdint>

#include "common/tool.h"
#include "options.h"
#include "types/plan.h"

namespace sti {

/// Keeps the process to the cores of the options or of the plan, and returns how many threads the
/// compute lane gets. Warns where a plan made by a measured profile asks for cores or threads that
/// are not there, and takes what there is. kUsage for cores of the options that are not there.
Result<uint32_t> TakeCores(const RunOptions& options, const Plan& plan, const Tool& tool);

}  // namespace sti
