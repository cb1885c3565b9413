#include "base/json_depth.h"

#include <cstddef>

namespace sti {

bool JsonIsTooDeep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '[' || c == '{')) {
      if (++depth > kMaxJsonDepth) return true;
    } else if (!quoted && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return false;
}

bool HasNulByte(std::string_view text) { return text.find('\0') != std::string_view::npos; }

}  // namespace sti
