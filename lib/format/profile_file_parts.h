// What the spellings of the profile file share. Internal to lib/format. Functions are thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "types/device_profile.h"

namespace sti {

inline constexpr size_t kMaxProfileSamples = 65536;
inline constexpr uint32_t kMaxReadBytes = 64u << 20;
inline constexpr uint32_t kMaxReadDepth = 256;

/// A p99 that was not measured is 0 in binary files and the median everywhere else.
inline double P99Or(double median_us, double p99_us) { return p99_us == 0 ? median_us : p99_us; }

/// Sets the kernel that a profile names. One without was written by hand.
void SetKernel(std::string name, DeviceProfile* profile);

/// Read, not validated.
Result<DeviceProfile> ProfileFromJson(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace sti
