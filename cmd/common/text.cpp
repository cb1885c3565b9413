#include "common/text.h"

#include <algorithm>

namespace sti {

std::string Wrapped(std::string_view line, std::string_view indent) {
  constexpr size_t kColumns = 80;
  std::string text;
  size_t room = kColumns;
  while (line.size() > room) {
    size_t end = line.rfind(' ', room);
    if (end == std::string_view::npos || end == 0) end = std::min(line.find(' '), line.size());
    text.append(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
    if (line.empty()) return text;
    text.append("\n").append(indent);
    room = kColumns - indent.size();
  }
  return text.append(line);
}

}  // namespace sti
