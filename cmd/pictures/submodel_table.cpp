#include "pictures/submodel_table.h"

#include <algorithm>
#include <cstdio>

namespace sti {
namespace {

constexpr uint32_t kColumns = 12;  // six characters each, beside the five of n

std::string Cell(const char* format, double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), format, value);  // NOLINT: literal formats only
  return buffer;
}

std::string Cell(uint32_t number) { return Cell("%6.0f", number); }

const SubmodelScore* Find(const Importance& importance, uint32_t depth, uint32_t width,
                          uint32_t bits) {
  auto found = std::find_if(
      importance.submodels.begin(), importance.submodels.end(), [&](const SubmodelScore& score) {
        return score.depth == depth && score.width == width && score.bits == bits;
      });
  return found == importance.submodels.end() ? nullptr : &*found;
}

// One line a depth, for the widths from `first` to before `end`.
std::string Columns(const Importance& importance, uint32_t bits, uint32_t first, uint32_t end) {
  std::string text = "    n";
  for (uint32_t width = first; width < end; ++width) text += Cell(width);
  text += '\n';
  for (uint32_t depth = 1; depth <= importance.layers; ++depth) {
    std::string line;
    bool any = false;
    for (uint32_t width = first; width < end; ++width) {
      const SubmodelScore* score = Find(importance, depth, width, bits);
      any = any || score != nullptr;
      line += score == nullptr ? "     -" : Cell("%6.1f", score->accuracy * 100);
    }
    if (any) text += Cell("%5.0f", depth) + line + '\n';
  }
  return text;
}

}  // namespace

std::string SubmodelTable(const Importance& importance) {
  const std::vector<SubmodelScore>& scores = importance.submodels;
  if (scores.empty()) return "";
  uint32_t most = 0;
  uint32_t narrowest = importance.width;
  for (const SubmodelScore& score : scores) {
    most = std::max(most, score.bits);
    narrowest = std::min(narrowest, score.width);
  }
  std::string text =
      importance.metric == "kl" ? "\nsame label as the full model, " : "\naccuracy, ";
  text += "%, of n layers (down) x m slices (across) at " + std::to_string(most) + " bits\n";
  for (uint32_t first = narrowest; first <= importance.width; first += kColumns) {
    text += Columns(importance, most, first, std::min(first + kColumns, importance.width + 1));
  }
  const SubmodelScore& largest = scores.back();  // they are sorted
  text += std::to_string(largest.depth) + "x" + std::to_string(largest.width) + " by bits:";
  for (const SubmodelScore& score : scores) {
    if (score.depth != largest.depth || score.width != largest.width) continue;
    text += " " + std::to_string(score.bits) + ": " + Cell("%.1f", score.accuracy * 100);
  }
  return text + "\n";
}

}  // namespace sti
