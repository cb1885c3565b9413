// A cascade (Tabi 3) runs an input through submodels of one container, the cheapest first, until
// one of them is sure of its label. A *cascade level* is one of these submodels; the word level
// alone stays with bitwidths. This file holds the rules by which an input goes from one cascade
// level to the next, which importance measures, the planner chooses and the pipeline follows.
#pragma once

#include <optional>

namespace sti {

/// The bounds of a temperature, within which logits stay numbers.
inline constexpr double kLeastTemperature = 0.001;
inline constexpr double kMostTemperature = 1000;

/// The steepest random dispatch that may be asked for: as good as a hard cut.
inline constexpr double kMostSlope = 1e6;

/// The rules by which an input goes on from one cascade level to the next (Tabi 3). Plain data.
struct CascadeRule {
  double cutoff = 1;            ///< c: with a confidence above it an input returns early; 0 to 1
  std::optional<double> slope;  ///< k of random dispatch (Tabi eq. 4); nothing: a hard cut
  /// α: of the words, the next level gets those that receive more than α of the mean attention; 0
  /// to 1, and 0 prunes nothing.
  double prune_alpha = 0;
  /// w: the weight of the next level's softmax; 0 to 1, and 1 takes no account of this level's.
  double ensemble_weight = 1;
  friend bool operator==(const CascadeRule&, const CascadeRule&) = default;
};

/// Returns which field of the rule is out of its range, as a sentence; null if all are within.
constexpr const char* FieldOutOfRange(const CascadeRule& rule) {
  if (!(rule.cutoff >= 0 && rule.cutoff <= 1)) return "cutoff is not from 0 to 1";
  if (rule.slope && !(*rule.slope >= 0 && *rule.slope <= kMostSlope))
    return "slope is not from 0 to 1000000";
  if (!(rule.prune_alpha >= 0 && rule.prune_alpha <= 1)) return "prune_alpha is not from 0 to 1";
  if (!(rule.ensemble_weight >= 0 && rule.ensemble_weight <= 1))
    return "ensemble_weight is not from 0 to 1";
  return nullptr;
}

/// Returns whether logits may be divided by this temperature.
constexpr bool IsTemperature(double temperature) {
  return temperature >= kLeastTemperature && temperature <= kMostTemperature;
}

}  // namespace sti
