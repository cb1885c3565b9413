// The jobs of sti-run beside answering the inputs of one model, which is main.cpp's.
#pragma once

#include "adjust.h"
#include "api/session.h"
#include "base/result.h"
#include "common/tool.h"
#include "options.h"

namespace sti {

/// Does the job of --eval (evaluate.cpp): runs a data set through the session, prints the summary,
/// and returns the exit code: that of a gate that failed, else that of an input without an answer,
/// else 0. The adjuster looks between rows.
Result<int> Evaluate(Session& session, const RunOptions& options, const Tool& tool,
                     Adjuster& adjuster);

/// Does the job of several --model (several.cpp): reads lines NAME TAB TEXT from stdin, and prints
/// an answer to each as soon as its model has one. Returns the exit code.
Result<int> ServeSeveral(const RunOptions& options, const Tool& tool);

}  // namespace sti
