// Texts in tests: as bytes, and whether one holds another.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sti {

inline std::span<const uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

inline bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace sti
