// sti-run --stage: one device's part of a model that is split over several. The first stage takes
// lines, the last prints their answers, and between them go frames (link/frame.h).
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "common/tool.h"
#include "options.h"
#include "types/plan.h"

namespace sti {

/// Returns the number of the stage of a plan that the options name. UsageError if the plan has no
/// stages, or none on this device.
Result<size_t> FindStage(const Plan& plan, const RunOptions& options);

/// Runs a stage until its input ends. Returns the exit code. An error that is not a line's own,
/// such as the loss of a neighbour, ends it.
Result<int> RunStage(const Tool& tool, const RunOptions& options);

}  // namespace sti
