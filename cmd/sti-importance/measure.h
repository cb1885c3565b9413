// The job of sti-importance without a subcommand: a measurement, whole or a part of one.
#pragma once

#include "options.h"
#include "types/importance.h"

namespace sti {

/// sti-importance itself: measures and writes. Returns the exit code.
Result<int> Measure(const Tool& tool, const ImportanceToolOptions& options);

/// Writes an importance where the options say and says what it holds.
Result<int> WriteAndReport(const Tool& tool, const ImportanceToolOptions& options,
                           const Importance& importance);

}  // namespace sti
