#include "pictures/cascade_table.h"

#include <map>
#include <vector>

#include "common/text.h"
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

}  // namespace

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

}  // namespace sti
