#pragma once

#include "options.h"

namespace sti {

/// sti-importance itself: measures and writes. Returns the exit code.
Result<int> Measure(const Tool& tool, const ImportanceToolOptions& options);

}  // namespace sti
