// The device profile file, binary or JSON (spec/profile.md). Functions are thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "types/device_profile.h"

namespace sti {

/// Reads either spelling. kData naming `name` and what is wrong. A p99 that is missing is the
/// median. Whether the times make sense is for the planner to say.
Result<DeviceProfile> ParseProfile(std::span<const uint8_t> bytes, const std::string& name);

/// The binary spelling. The same bytes for the same value.
std::vector<uint8_t> EncodeProfile(const DeviceProfile& profile);

/// The JSON spelling. The same bytes for the same value.
std::string ProfileToJson(const DeviceProfile& profile);

}  // namespace sti
