#include "types/stage.h"

#include <algorithm>

#include "types/limits.h"

namespace sti {

std::optional<size_t> PlanStages::Find(std::string_view device) const {
  const auto found = std::ranges::find(stages, device, &PlanStage::device);
  if (found == stages.end()) return std::nullopt;
  return static_cast<size_t>(found - stages.begin());
}

bool IsDeviceName(std::string_view name) {
  const auto may_stand = [](char c) {
    return c > ' ' && c < 0x7f && c != '/' && c != '\\' && c != '"' && c != '\'';
  };
  return !name.empty() && name.size() <= kMaxShortTextBytes && name != "auto" &&
         std::ranges::all_of(name, may_stand);
}

}  // namespace sti
