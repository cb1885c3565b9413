// The job of sti-run --eval: a data set through a session, a summary, and gates on it.
#pragma once

#include "adjust.h"
#include "api/session.h"
#include "base/result.h"
#include "common/tool.h"
#include "options.h"

namespace sti {

/// Runs a data set through the session, prints the summary, and returns the exit code: that of a
/// gate that failed, else that of an input without an answer, else 0. The adjuster looks between
/// rows.
Result<int> Evaluate(Session& session, const RunOptions& options, const Tool& tool,
                     Adjuster& adjuster);

}  // namespace sti
