// The place of sti-run before other processes, on cores and at the flash.
#pragma once

#include "common/tool.h"

namespace sti {

/// Puts this thread, and all that it starts from here on, ahead of other processes: real-time
/// scheduling of the lowest rank, and reads of the highest class that the system allows. Warns of
/// what could not be had.
void TakePriority(const Tool& tool);

}  // namespace sti
