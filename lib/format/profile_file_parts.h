// A profile file has two spellings, binary and JSON. This file holds what their readers and writers
// share. Internal to lib/format. Functions are thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "format/unknown_keys.h"
#include "types/device_profile.h"

namespace sti {

/// Returns a p99 of a binary file as it is used: 0, which stands for one that was not measured,
/// becomes the median.
inline double P99Or(double median_us, double p99_us) { return p99_us == 0 ? median_us : p99_us; }

/// Sets the kernel that a profile names. A profile that names none was written by hand.
void SetKernel(std::string name, DeviceProfile* profile);

/// Reads a profile in JSON, without validating it; `name` is for messages. `unknown` may be null.
Result<DeviceProfile> ProfileFromJson(std::span<const uint8_t> bytes, const std::string& name,
                                      UnknownKeys* unknown);

}  // namespace sti
