#include "types/model_info.h"

#include <cstddef>
#include <map>
#include <string_view>

#include "base/utf8.h"

namespace sti {

std::string ProblemOfLabels(const std::vector<std::string>& labels) {
  std::map<std::string_view, size_t> ids;
  for (size_t id = 0; id < labels.size(); ++id) {
    const std::string name = "label " + std::to_string(id);
    if (labels[id].empty()) return name + " is empty";
    if (!IsPrintable(labels[id])) return name + " is not UTF-8 or has a control character";
    const auto [first, added] = ids.emplace(labels[id], id);
    if (!added) return name + " is that of label " + std::to_string(first->second) + " again";
  }
  return "";
}

}  // namespace sti
