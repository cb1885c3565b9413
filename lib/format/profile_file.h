// The device profile file, binary or JSON (spec/profile.md). Functions are thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/unknown_keys.h"
#include "types/device_profile.h"

namespace sti {

/// Reads either spelling. kData naming `name` and the first rule that the profile breaks
/// (types/profile_check.h). A p99 that is missing is the median.
Result<DeviceProfile> ParseProfile(std::span<const uint8_t> bytes, const std::string& name);

/// The same, and adds the fields of the JSON spelling that are unknown; `unknown` may be null.
Result<DeviceProfile> ParseProfileNoting(std::span<const uint8_t> bytes, const std::string& name,
                                         UnknownKeys* unknown);

/// The binary spelling. The same bytes for the same value.
std::vector<uint8_t> EncodeProfile(const DeviceProfile& profile);

/// The JSON spelling. The same bytes for the same value.
std::string ProfileToJson(const DeviceProfile& profile);

}  // namespace sti
