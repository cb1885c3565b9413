#include "types/stage.h"

#include <algorithm>

namespace sti {

std::optional<size_t> PlanStages::Find(std::string_view device) const {
  const auto found = std::ranges::find(stages, device, &PlanStage::device);
  if (found == stages.end()) return std::nullopt;
  return static_cast<size_t>(found - stages.begin());
}

}  // namespace sti
