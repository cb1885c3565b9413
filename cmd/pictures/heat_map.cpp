#include "pictures/heat_map.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "common/lines.h"
#include "pictures/importance_text.h"
#include "pictures/shading.h"
#include "types/importance.h"
#include "types/submodel.h"

namespace sti {
namespace {

constexpr double kMostLost = 0.005;  // of accuracy, by what a row shows
constexpr double kPercent = 100;

std::string LevelName(const CascadeLevelScore& level) {
  return NameOf(Submodel{level.depth, level.width}, level.bits);
}

/// A cut of a cascade, and the shards that it computes of a text in the mean.
struct Choice {
  const CascadeScore* cascade = nullptr;
  const CascadeCut* cut = nullptr;
  double shards = 0;
};

double ShardsOf(const Importance& importance, const CascadeScore& cascade, const CascadeCut& cut) {
  double shards = 0;
  double reach = 1;
  for (size_t i = 0; i < cascade.levels.size(); ++i) {
    const CascadeLevelScore& level = importance.cascade_levels[cascade.levels[i]];
    shards += reach * level.depth * level.width;
    reach -= cut.shares[i];
  }
  return shards;
}

/// Returns the best choice for each list of levels that has one.
std::map<std::vector<uint32_t>, Choice> BestOf(const Importance& importance) {
  std::map<std::vector<uint32_t>, Choice> best;
  for (const CascadeScore& cascade : importance.cascades) {
    const double last = importance.cascade_levels[cascade.levels.back()].accuracy;
    for (const CascadeCut& cut : cascade.cuts) {
      if (cut.accuracy < last - kMostLost) continue;
      const Choice choice{&cascade, &cut, ShardsOf(importance, cascade, cut)};
      Choice& held = best[cascade.levels];
      if (held.cut == nullptr || choice.shards < held.shards) held = choice;
    }
  }
  return best;
}

std::string RowOf(const Importance& importance, const Choice& choice) {
  std::string names;
  for (const uint32_t level : choice.cascade->levels) {
    if (!names.empty()) names += " > ";
    names += LevelName(importance.cascade_levels[level]);
  }
  const CascadeCut& cut = *choice.cut;
  return Format("%-28s %5.2f %4.1f %4.2f %8.1f %7.1f %6.1f %9.2f\n", names.c_str(), cut.cutoff,
                choice.cascade->alpha, cut.weights.back(), (1 - cut.shares.back()) * kPercent,
                cut.words_left.back() * kPercent, choice.shards, cut.accuracy * kPercent);
}

// The cascade levels of an importance file, and for each cascade of them the cut that computes
// fewest shards a text among those which lose at most half a point of the last level's accuracy;
// in lines of at most 80 characters. Empty if no cascades were measured.
std::string CascadeTable(const Importance& importance) {
  if (importance.cascade_levels.empty()) return "";
  std::string text =
      "\ncascade level  accuracy, %  temperature  NLL at 1  with it  ECE at 1  with it\n";
  for (const CascadeLevelScore& level : importance.cascade_levels) {
    text += Format("%-13s %12.2f %12.2f %9.3f %8.3f %9.3f %8.3f\n", LevelName(level).c_str(),
                   level.accuracy * kPercent, level.temperature, level.nll, level.calibrated_nll,
                   level.ece, level.calibrated_ece);
  }
  const auto best = BestOf(importance);
  if (best.empty()) return text + "no cascade of them is within 0.5 points of its last level\n";
  text += "\nfewest shards within 0.5 points of the last level; shares in %\n";
  text += "cascade                          c    a    w  returned   words shards  accuracy\n";
  for (const auto& [levels, choice] : best) text += RowOf(importance, choice);
  return text;
}

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

// Shares of examples in percent; what a model that embeds is measured by as it is.
std::string QualityCell(const Importance& importance, const SubmodelScore& score, int width) {
  const bool is_share = !TraitsOf(importance.metric).for_embeddings;
  return Format("%*.*f", width, is_share ? 1 : 3, score.accuracy * (is_share ? kPercent : 1));
}

// Returns the name of the quality that the table of submodels shows.
std::string QualityTitle(Metric metric) {
  switch (metric) {
    case Metric::kAccuracy:
    case Metric::kLoss:
      return "accuracy, %";
    case Metric::kKl:
      return "same label as the full model, %";
    case Metric::kCosine:
      return "cosine with the full model";
    case Metric::kSpearman:
      return "Spearman with the scores";
    case Metric::kF1:
      return "F1 of spans, %";
  }
  return "";
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
      line += score == nullptr ? "     -" : QualityCell(importance, *score, 6);
    }
    if (any) text += Cell("%5.0f", depth) + line + '\n';
  }
  return text;
}

// A(n, m) of an importance file at the most bits measured, layers downwards and slices to the
// right, in lines of at most 80 characters; below it the largest submodel by bits. Empty if no
// submodels were measured.
std::string SubmodelTable(const Importance& importance) {
  const std::vector<SubmodelScore>& scores = importance.submodels;
  if (scores.empty()) return "";
  uint32_t most = 0;
  uint32_t narrowest = importance.width;
  for (const SubmodelScore& score : scores) {
    most = std::max(most, score.bits);
    narrowest = std::min(narrowest, score.width);
  }
  std::string text = "\n" + QualityTitle(importance.metric) +
                     ", of n layers (down) x m slices (across) at " + std::to_string(most) +
                     " bits\n";
  for (uint32_t first = narrowest; first <= importance.width; first += kColumns) {
    text += Columns(importance, most, first, std::min(first + kColumns, importance.width + 1));
  }
  const SubmodelScore& largest = scores.back();  // they are sorted
  text += std::to_string(largest.depth) + "x" + std::to_string(largest.width) + " by bits:";
  for (const SubmodelScore& score : scores) {
    if (score.depth != largest.depth || score.width != largest.width) continue;
    text += " " + std::to_string(score.bits) + ": " + QualityCell(importance, score, 0);
  }
  return text + "\n";
}

constexpr size_t kLineWidth = 80;
constexpr uint32_t kBlock = 16;  // slices beside each other

std::string Right(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string Figure(double share) { return std::to_string(static_cast<int>(share * 99)); }

void EndLine(std::string* text) {
  while (text->back() == ' ') text->pop_back();
  *text += '\n';
}

// The cells of one layer, each `cell` characters wide.
std::string Cells(const Shading& shading, uint32_t layer, uint32_t first, uint32_t end, size_t cell,
                  TerminalColours colours) {
  std::string text;
  for (uint32_t slice = first; slice < end; ++slice) {
    const double share = shading.Of(layer, slice);
    std::string figure = Right(Figure(share), 3);
    figure.resize(cell, ' ');
    text += Shaded(figure, share, colours);
  }
  return text;
}

// One block of slices with its means; the means of layers stand beside the last.
std::string Block(const Importance& importance, const Shading& shading, uint32_t first,
                  uint32_t end, TerminalColours colours) {
  constexpr size_t kCell = 4;
  const bool last = end == importance.width;
  std::string text = "       ";
  for (uint32_t slice = first; slice < end; ++slice) text += Right(std::to_string(slice), 3) + " ";
  if (last) text += " mean";
  EndLine(&text);
  for (uint32_t layer = 0; layer < importance.layers; ++layer) {
    text += Right(std::to_string(layer), 5) + "  ";
    text += Cells(shading, layer, first, end, kCell, colours);
    if (last) text += Right(Figure(shading.OfLayer(layer)), 5);
    EndLine(&text);
  }
  text += " mean  ";
  for (uint32_t slice = first; slice < end; ++slice) {
    text += Right(Figure(shading.OfSlice(slice)), 3) + " ";
  }
  EndLine(&text);
  return text;
}

std::string Legend(const Importance& importance, TerminalColours colours) {
  return "layer  slices 0.." + std::to_string(importance.width - 1) +
         ", 0 least to 99 most important" +
         (colours == TerminalColours::kNone ? "" : ", lighter is more") + "\n";
}

std::string Map(const Importance& importance, TerminalColours colours) {
  const Shading shading(importance);
  std::string text = Legend(importance, colours);
  for (uint32_t first = 0; first < importance.width; first += kBlock) {
    const uint32_t end = std::min(first + kBlock, importance.width);
    text += Block(importance, shading, first, end, colours);
  }
  return text;
}

constexpr size_t kPairMargin = 5;  // the number of a layer
constexpr size_t kPairCell = 3;
constexpr size_t kPairGap = 2;

std::string SideBySide(const Importance& a, const Importance& b, TerminalColours colours) {
  const Shading shading_a(a);
  const Shading shading_b(b);
  const size_t map = a.width * kPairCell;
  std::string text = Legend(a, colours) + std::string(kPairMargin + 2, ' ') + "A";
  text += std::string(map + kPairGap - 1, ' ') + "B\n";
  for (uint32_t layer = 0; layer < a.layers; ++layer) {
    text += Right(std::to_string(layer), kPairMargin - 1) + " ";
    text += Cells(shading_a, layer, 0, a.width, kPairCell, colours);
    text += std::string(kPairGap, ' ');
    text += Cells(shading_b, layer, 0, b.width, kPairCell, colours) + "\n";
  }
  return text;
}

std::string Heading(char letter, const Importance& importance, const std::string& name) {
  return std::string(1, letter) + ": " + name + "\n" + DescribeImportance(importance) + "\n" +
         DescribeNoise(importance);
}

}  // namespace

std::string HeatMap(const Importance& importance) {
  return DescribeImportance(importance) + "\n" + DescribeNoise(importance) + "\n" +
         Map(importance, ColoursOfStdout()) + SubmodelTable(importance) + CascadeTable(importance);
}

std::string HeatMapPair(const Importance& a, const std::string& name_a, const Importance& b,
                        const std::string& name_b) {
  const TerminalColours colours = ColoursOfStdout();
  const std::string heading_a = Heading('A', a, name_a) + "\n";
  const std::string heading_b = Heading('B', b, name_b) + "\n";
  const std::string agreement = DescribeAgreement(Agreement(a, b)) + "\n";
  if (kPairMargin + 2 * a.width * kPairCell + kPairGap <= kLineWidth) {
    return heading_a + heading_b + SideBySide(a, b, colours) + "\n" + agreement;
  }
  return heading_a + Map(a, colours) + "\n" + heading_b + Map(b, colours) + "\n" + agreement;
}

}  // namespace sti
