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

class JsonFields;

/// Reads either spelling. kData naming `name` and the first rule that the profile breaks
/// (types/profile_check.h). A p99 that is missing is the median.
Result<DeviceProfile> ParseProfile(std::span<const uint8_t> bytes, const std::string& name);

/// Does the same, and adds to `unknown`, which may be null, the fields of a JSON file that this
/// version does not know.
Result<DeviceProfile> ParseProfileNoting(std::span<const uint8_t> bytes, const std::string& name,
                                         UnknownKeys* unknown);

/// Reads the JSON spelling out of an object's fields, which keep what is wrong: a missing field, or
/// one of another type. Rules of values are for FindProfileFault. Internal to lib/format.
DeviceProfile ReadProfileFields(JsonFields& fields);

/// Returns the binary spelling. Equal values give equal bytes.
std::vector<uint8_t> EncodeProfile(const DeviceProfile& profile);

/// Returns the JSON spelling. Equal values give equal bytes.
std::string ProfileToJson(const DeviceProfile& profile);

}  // namespace sti
