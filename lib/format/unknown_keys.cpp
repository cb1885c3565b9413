#include "format/unknown_keys.h"

#include <algorithm>

#include "base/utf8.h"

namespace sti {

void UnknownKeys::Add(const std::string& name) {
  constexpr size_t kMostNames = 8;
  if (names_.size() == kMostNames) return;
  const std::string printable = Clipped(MakePrintable(name));
  if (std::find(names_.begin(), names_.end(), printable) == names_.end())
    names_.push_back(printable);
}

}  // namespace sti
