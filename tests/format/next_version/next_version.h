// Files as a later minor version of the formats would write them: made with the schemas of today
// and fields more (tests/CMakeLists.txt), which readers of today do not know.
//
// In a folder of tests/format because it includes generated FlatBuffers headers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sti {

/// Returns a sound file of any of our kinds as a later version would write it: with minor version
/// 99, unknown fields at the end of tables, and: in a container, unknown bytes where old readers
/// expect nothing, before the first part and behind the last; in a small file, a longer header.
/// Empty for other files.
std::vector<uint8_t> NextVersion(std::span<const uint8_t> file);

/// Returns the container that NextVersion does, but its header says today's version: so it holds
/// what only a newer version may hold.
std::vector<uint8_t> NextContainerOfThisMinor(std::span<const uint8_t> file);

}  // namespace sti
