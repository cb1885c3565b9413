// More work never takes less time, but one measurement of it may: a hiccup of the machine during
// the smaller one. Lowering each time to the least of all larger amounts of work removes such
// hiccups and leaves sound profiles as they are.
#pragma once

#include "types/device_profile.h"

namespace sti {

/// Makes io times ascend with bytes, and compute times with width and with length at each clock.
/// Sorts `io` by bytes and `compute` by length, width and clock. p99 stays at or above the median.
void SmoothProfile(DeviceProfile& profile);

}  // namespace sti
