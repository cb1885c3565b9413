// Names that the tests of hostile sizes share.
#pragma once

#include <cstdint>
#include <vector>

namespace sti {

using Bin = std::vector<uint8_t>;

inline constexpr uint64_t kMiB = uint64_t{1} << 20;

}  // namespace sti
