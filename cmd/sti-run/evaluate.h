#pragma once

#include "api/session.h"
#include "base/result.h"
#include "common/tool.h"
#include "options.h"

namespace sti {

/// Runs a data set through the session, prints the summary, and returns 0 or 4 by the gates.
Result<int> Evaluate(Session& session, const RunOptions& options, const Tool& tool);

}  // namespace sti
