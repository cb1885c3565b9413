// Memory that stays: pages that the system takes from nobody, however short of memory it is.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"

namespace sti {

/// Brings the pages of `memory` in and keeps them (mlock). kMachine where the system does not allow
/// it; then nothing of `memory` is kept. Locks do not nest.
[[nodiscard]] Status LockMemory(std::span<const uint8_t> memory);

/// Lets the pages of `memory` go again when others need theirs.
void UnlockMemory(std::span<const uint8_t> memory);

}  // namespace sti
