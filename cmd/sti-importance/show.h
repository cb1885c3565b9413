// The job of sti-importance show.
#pragma once

#include "options.h"

namespace sti {

/// sti-importance show: prints an importance file. Returns the exit code.
Result<int> Show(const Tool& tool, const ImportanceToolOptions& options);

}  // namespace sti
