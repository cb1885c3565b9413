// Cores and threads of a run: a plan counts on those that were profiled, so a run takes them unless
// it is told otherwise.
#pragma once

#include <cstdint>
#include <span>

#include "common/tool.h"
#include "options.h"
#include "types/plan.h"

namespace sti {

/// Keeps the process to the cores of the options or of the plans, and returns how many threads the
/// compute lane gets, which all models share: as many as all plans together count on, if there are
/// so many. Warns where plans made by a measured profile ask for cores or threads that are not
/// there, or for different cores, and takes what there is. kUsage for cores of the options that are
/// not there.
Result<uint32_t> TakeCores(const RunOptions& options, std::span<const Plan* const> plans,
                           const Tool& tool);

}  // namespace sti
