// A cascade (Tabi 3) runs an input through submodels of one container, the cheapest first, until
// one of them is sure of its label. A *cascade level* is one of these submodels; the word level
// alone stays with bitwidths. This file holds the rules by which an input goes from one cascade
// level to the next, which importance measures, the planner chooses and the pipeline follows. They
// take logits and attention and give verdicts; nothing here runs a model. "Tabi" is "Tabi: An
// Efficient Multi-Level Inference System for Large Language Models" (EuroSys 2023).
//
// All functions are pure and thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sti {

/// The bounds of a temperature, within which logits stay numbers.
inline constexpr double kLeastTemperature = 0.001;
inline constexpr double kMostTemperature = 1000;

/// The steepest random dispatch that may be asked for: as good as a hard cut.
inline constexpr double kMostSlope = 1e6;

/// The rules by which an input goes on from one cascade level to the next (Tabi 3). Plain data.
struct CascadeRule {
  double cutoff = 1;  ///< c: with a confidence above it an input returns early; 0 to 1
  std::optional<double> slope = {};  ///< k of random dispatch (Tabi 4.1, eq. 4); none: a hard cut
  /// α: of the words, the next level gets those that receive more than α of the mean attention; 0
  /// to 1, and 0 prunes nothing.
  double prune_alpha = 0;
  /// w: the weight of the next level's softmax; 0 to 1, and 1 takes no account of this level's.
  double ensemble_weight = 1;
  friend bool operator==(const CascadeRule&, const CascadeRule&) = default;
};

/// Returns whether logits may be divided by this temperature.
constexpr bool IsTemperature(double temperature) {
  return temperature >= kLeastTemperature && temperature <= kMostTemperature;
}

/// The word of a token that is of no word: a control token.
inline constexpr uint32_t kNoWord = UINT32_MAX;

/// Returns the greatest of softmax(logits / temperature) (Tabi 4.1, eq. 3): 1 / labels to 1, or NaN
/// if any logit is. `logits` [labels] are at least one, `temperature` is above 0.
double Confidence(std::span<const float> logits, double temperature);

/// Returns the probability that an input of this confidence goes on to the next level (Tabi 4.1,
/// eq. 4): 1 up to the cut-off, and of NaN; above it 0, or by the sigmoid where the rule has a
/// slope.
double GoOnProbability(double confidence, const CascadeRule& rule);

/// Returns whether an input goes on to the next level. Where that is left to chance, it is drawn by
/// a hash of the input's `ids` and `seed`, so that the same input has the same fate.
bool GoesOn(double confidence, const CascadeRule& rule, std::span<const uint32_t> ids,
            uint64_t seed);

/// Returns which tokens the next level gets (Tabi 4.2, eq. 5), [tokens]. `attention` [tokens] is
/// what each received, summed over layers and heads, and `words` the word of each or kNoWord. A
/// token is wanted that has more than `alpha` of the mean over all tokens, control tokens included.
/// A word stays if one of its tokens is wanted. All control tokens stay, and at least one word
/// between two of them: that of the most attention. Without words, with alpha 0 and where attention
/// is no number, all tokens stay.
std::vector<bool> KeptTokens(std::span<const float> attention, std::span<const uint32_t> words,
                             double alpha);

/// Returns those of `entries` [tokens] for which `kept` [tokens] is true.
std::vector<uint32_t> Kept(std::span<const uint32_t> entries, const std::vector<bool>& kept);

/// Returns the number of words in `words` of which no token is in `kept`; both [tokens].
uint32_t WordsLeftOut(std::span<const uint32_t> words, const std::vector<bool>& kept);

/// Returns the probability of a label in an ensemble of two levels (Tabi 4.3, eq. 6): w second +
/// (1 - w) first, w being `weight`; exactly `second` where w is 1, whatever `first` is.
constexpr float EnsembleOf(double first, double second, double weight) {
  return static_cast<float>(weight >= 1 ? second : weight * second + (1 - weight) * first);
}

/// Writes w softmax(logits2 / temperature2) + (1 - w) softmax(logits1 / temperature1) to
/// `probabilities` (Tabi 4.3, eq. 6), w being `weight`; all [labels].
void Ensemble(std::span<const float> logits1, double temperature1, std::span<const float> logits2,
              double temperature2, double weight, std::span<float> probabilities);

}  // namespace sti
