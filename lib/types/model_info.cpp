#include "types/model_info.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>

#include "base/utf8.h"
#include "types/finite.h"
#include "types/limits.h"

namespace sti {

bool IsImageShape(const ImageShape& image) {
  return image.size >= 1 && image.size <= kMaxImageSize && image.patch >= 1 &&
         image.size % image.patch == 0 && image.patches() < kMaxPositions && image.channels >= 1 &&
         image.channels <= kMaxChannels;
}

bool IsPixelScale(const PixelScale& pixels, uint32_t channels) {
  const auto is_deviation = [](float number) { return std::isnormal(number) && number > 0; };
  return pixels.mean.size() == channels && pixels.deviation.size() == channels &&
         AllFinite(pixels.mean) && std::ranges::all_of(pixels.deviation, is_deviation);
}

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
