// The job of sti-run with several --model: lines for one of them or another.
#pragma once

#include "base/result.h"
#include "common/tool.h"
#include "options.h"

namespace sti {

/// Serves the models of --model: reads lines NAME TAB TEXT from stdin, and prints an answer to each
/// as soon as its model has one. Returns the exit code.
Result<int> ServeSeveral(const RunOptions& options, const Tool& tool);

}  // namespace sti
