// The members of a zip archive whose bytes are stored as they are, which is how torch.save keeps
// tensors: so they can be used where they lie.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "base/result.h"

namespace sti {

using ZipMembers = std::map<std::string, std::span<const uint8_t>, std::less<>>;

/// Returns the members of the archive `file` by name, zip64's too. What counts is the directory at
/// its end. DataError for one that is not sound, a member outside the file or one that stands
/// twice, and for more than 2^20 members; ForeignError for a member that is packed or encrypted.
/// Checksums are not looked at. Pure.
Result<ZipMembers> ReadZip(std::span<const uint8_t> file);

}  // namespace sti
