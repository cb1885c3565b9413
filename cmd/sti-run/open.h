#pragma once

#include <memory>

#include "api/session.h"
#include "base/result.h"
#include "common/tool.h"
#include "options.h"

namespace sti {

/// Opens model, plan and session as the options say; warns through `tool` where a person should
/// know something. Both outlive the session.
Result<std::unique_ptr<Session>> OpenSession(const RunOptions& options, const Tool& tool);

/// Returns the bytes of the process that `plan` was made for, where --memory bounds it; 0 if it was
/// not, or nothing does.
uint64_t PlannedForBytes(const RunOptions& options, const Plan& plan);

}  // namespace sti
