#include "pictures/shading.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace sti {
namespace {

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Shading::Shading(const Importance& importance) : importance_(importance) {
  const auto [low, high] = std::minmax_element(importance.scores.begin(), importance.scores.end());
  low_ = *low;
  high_ = *high;
}

double Shading::Of(uint32_t layer, uint32_t slice) const {
  const double score = importance_.scores[size_t{layer} * importance_.width + slice];
  // Halves, where the distance of the extremes is beyond all doubles.
  const double scale = std::isfinite(high_ - low_) ? 1 : 0.5;
  const double share = (score * scale - low_ * scale) / (high_ * scale - low_ * scale);
  return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.5;  // 0.5 where all are equal
}

double Shading::OfLayer(uint32_t layer) const {
  double sum = 0;
  for (uint32_t slice = 0; slice < importance_.width; ++slice) sum += Of(layer, slice);
  return sum / importance_.width;
}

double Shading::OfSlice(uint32_t slice) const {
  double sum = 0;
  for (uint32_t layer = 0; layer < importance_.layers; ++layer) sum += Of(layer, slice);
  return sum / importance_.layers;
}

Rgb ColourOf(double share) {
  const auto mix = [share](int dark, int light) {
    return static_cast<uint8_t>(dark + share * (light - dark));
  };
  return {mix(30, 253), mix(40, 231), mix(90, 150)};
}

TerminalColours ColoursOfStdout() {
  const std::string_view terminal = Environment("TERM");
  if (isatty(STDOUT_FILENO) == 0 || !Environment("NO_COLOR").empty() || terminal.empty() ||
      terminal == "dumb") {
    return TerminalColours::kNone;
  }
  const std::string_view depth = Environment("COLORTERM");
  return depth == "truecolor" || depth == "24bit" ? TerminalColours::kTrue : TerminalColours::k256;
}

std::string Shaded(const std::string& text, double share, TerminalColours colours) {
  if (colours == TerminalColours::kNone) return text;
  std::string background = "48;5;" + std::to_string(232 + static_cast<int>(share * 23));  // greys
  if (colours == TerminalColours::kTrue) {
    const Rgb c = ColourOf(share);
    background = "48;2;" + std::to_string(c.red) + ";" + std::to_string(c.green) + ";" +
                 std::to_string(c.blue);
  }
  // The foreground is of the colour cube, because themes change the first sixteen colours.
  const char* foreground = share > 0.5 ? ";38;5;16m" : ";38;5;231m";
  return "\033[" + background + foreground + text + "\033[0m";
}

}  // namespace sti
