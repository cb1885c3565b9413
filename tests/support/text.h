// Texts in tests: whether one holds another.
#pragma once

#include <string_view>

namespace sti {

inline bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace sti
