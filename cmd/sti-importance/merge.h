// The job of sti-importance merge.
#pragma once

#include "options.h"

namespace sti {

/// sti-importance merge: joins part files. Returns the exit code.
Result<int> Merge(const Tool& tool, const ImportanceToolOptions& options);

}  // namespace sti
