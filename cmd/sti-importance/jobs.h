// The jobs of sti-importance: a measurement, whole or a part of one; parts joined; an importance
// shown.
#pragma once

#include "options.h"
#include "types/importance.h"

namespace sti {

/// sti-importance itself: measures and writes. Returns the exit code.
Result<int> Measure(const Tool& tool, const ImportanceToolOptions& options);

/// Writes an importance where the options say and says what it holds.
Result<int> WriteAndReport(const Tool& tool, const ImportanceToolOptions& options,
                           const Importance& importance);

/// sti-importance merge: joins part files. Returns the exit code.
Result<int> Merge(const Tool& tool, const ImportanceToolOptions& options);

/// sti-importance show: prints an importance file. Returns the exit code.
Result<int> Show(const Tool& tool, const ImportanceToolOptions& options);

}  // namespace sti
