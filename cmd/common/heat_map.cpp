#include "common/heat_map.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/atomic_file.h"
#include "common/submodel_table.h"
#include "common/svg.h"

namespace sti {
namespace {

template <typename... Values>
std::string Format(const char* format, Values... values) {
  char buffer[256];
  std::snprintf(buffer, sizeof(buffer), format, values...);  // NOLINT: literal formats only
  return buffer;
}

struct Range {
  double low;
  double high;
  // 0 for the least important shard, 1 for the most.
  [[nodiscard]] double Share(double score) const {
    return high > low ? (score - low) / (high - low) : 0.5;
  }
};

Range RangeOf(const Importance& importance) {
  auto [low, high] = std::minmax_element(importance.scores.begin(), importance.scores.end());
  return {*low, *high};
}

std::string Value(const Importance& importance, double score) {
  if (importance.metric == "accuracy") return Format("%.2f %%", score * 100);
  return Format("%.4f", importance.metric == "kl" || importance.metric == "loss" ? -score : score);
}

// 24 grey levels of the 256-colour terminal, dark to light.
std::string GreyCell(double share) {
  return Format("\033[48;5;%dm    \033[0m", 232 + static_cast<int>(share * 23));
}

struct Rgb {
  int red, green, blue;
};

// Dark blue to light yellow: readable in print and for the colour-blind.
Rgb ColourOf(double share) {
  auto mix = [share](int dark, int light) {
    return static_cast<int>(dark + share * (light - dark));
  };
  return {mix(30, 253), mix(40, 231), mix(90, 150)};
}

}  // namespace

std::string DescribeImportance(const Importance& importance) {
  Range range = RangeOf(importance);
  return std::to_string(importance.examples) + " examples: " + importance.metric + " " +
         Value(importance, range.low) + " to " + Value(importance, range.high) +
         " with a shard raised, " + Value(importance, importance.baseline) + " without";
}

std::string HeatMap(const Importance& importance) {
  bool colour = isatty(STDOUT_FILENO) != 0;
  Range range = RangeOf(importance);
  std::string text = DescribeImportance(importance) + "\n\n";
  text += colour ? "layer  slices 0.." + std::to_string(importance.width - 1) +
                       ", lighter is more important\n"
                 : "layer  slices 0.." + std::to_string(importance.width - 1) +
                       ", 0 least to 99 most important\n";
  for (uint32_t layer = 0; layer < importance.layers; ++layer) {
    text += Format("%5u  ", layer);
    for (uint32_t slice = 0; slice < importance.width; ++slice) {
      double share = range.Share(importance.scores[size_t{layer} * importance.width + slice]);
      text += colour ? GreyCell(share) : Format("%3d ", static_cast<int>(share * 99));
    }
    while (text.back() == ' ') text.pop_back();
    text += '\n';
  }
  return text + SubmodelTable(importance);
}

Status WriteHeatMapSvg(const std::string& path, const Importance& importance) {
  constexpr int kCell = 36;
  constexpr int kHalfCell = kCell / 2;
  constexpr int kLeft = 64;
  constexpr int kTop = 44;
  Range range = RangeOf(importance);
  int width = kLeft + kCell * static_cast<int>(importance.width) + 20;
  int height = kTop + kCell * static_cast<int>(importance.layers) + 48;
  Svg svg(width, height);
  svg.Text(10, 20,
           "Shard importance, " + importance.metric + ": " + Value(importance, range.low) + " to " +
               Value(importance, range.high),
           " font-size=\"13\"");
  for (uint32_t layer = 0; layer < importance.layers; ++layer) {
    int y = kTop + kCell * static_cast<int>(layer);
    svg.Text(kLeft - 8, y + kHalfCell + 4, std::to_string(layer), " text-anchor=\"end\"");
    for (uint32_t slice = 0; slice < importance.width; ++slice) {
      double score = importance.scores[size_t{layer} * importance.width + slice];
      Rgb c = ColourOf(range.Share(score));
      double x = kLeft + kCell * static_cast<int>(slice);
      svg.Rect({x, static_cast<double>(y), kCell - 1, kCell - 1},
               Format("rgb(%d,%d,%d)", c.red, c.green, c.blue),
               Format("layer %u slice %u: %s", layer, slice, Value(importance, score).c_str()));
    }
  }
  int below = kTop + kCell * static_cast<int>(importance.layers);
  for (uint32_t slice = 0; slice < importance.width; ++slice) {
    svg.Text(kLeft + kCell * static_cast<int>(slice) + kHalfCell, below + 16, std::to_string(slice),
             " text-anchor=\"middle\"");
  }
  svg.Text(kLeft, below + 36, "vertical slice");
  int middle = (kTop + below) / 2;
  svg.Text(16, middle, "layer",
           Format(" transform=\"rotate(-90 16 %d)\" text-anchor=\"middle\"", middle));
  const std::string text = svg.Finish();
  return WriteFileAtomically(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace sti
