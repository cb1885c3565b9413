// A device that has become slower, or faster, since it was profiled: heat, other processes, another
// governor. An app that measures how its runs differ from their plan replans with this.
#pragma once

#include "types/device_profile.h"

namespace sti {

/// The profile as the device is now: layers, embeddings and head take `compute_ratio` times as
/// long, loads and embedding rows `io_ratio` times, medians and 99th percentiles alike. Clocks,
/// sizes and `start_us` stay. A ratio that is not a positive finite number counts as 1.
/// Thread-safe.
DeviceProfile DriftedProfile(const DeviceProfile& profile, double compute_ratio, double io_ratio);

}  // namespace sti
