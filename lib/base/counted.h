// Counts with their nouns, as messages have them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sti {

/// Returns "1 layer", "6 layers" or "0 layers" of a noun that takes an s for more than one.
inline std::string Counted(uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace sti
