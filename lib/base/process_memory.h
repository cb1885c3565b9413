// The memory of this process, as the kernel counts it.
#pragma once

#include <cstdint>

namespace sti {

/// Return the resident memory of this process in bytes, now and at most so far (VmRSS and VmHWM of
/// /proc/self/status); 0 where the kernel does not tell.
uint64_t CurrentRssBytes();
uint64_t PeakRssBytes();

}  // namespace sti
