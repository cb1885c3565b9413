// Cascade scores say how submodels of one container do one after another: which share of all inputs
// each answers, and how well (Tabi 5). They are counted when importance is measured, and the
// planner chooses a cascade by them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace sti {

/// One submodel with all its shards at one bitwidth, as a cascade level, and how well its
/// confidence is calibrated. The calibrated numbers are those of examples that the temperature was
/// not fitted to.
struct CascadeLevelScore {
  uint32_t depth = 0;         ///< n
  uint32_t width = 0;         ///< m
  uint32_t bits = 0;          ///< bits of every shard
  double accuracy = 0;        ///< 0 to 1, alone on all examples
  double temperature = 1;     ///< τ: softmax(logits / τ) is the confidence (Tabi 4.1)
  double nll = 0;             ///< mean negative log-likelihood in nats, with τ = 1
  double calibrated_nll = 0;  ///< likewise, with τ
  double ece = 0;             ///< expected calibration error of 15 bins, 0 to 1, with τ = 1
  double calibrated_ece = 0;  ///< likewise, with τ
  friend bool operator==(const CascadeLevelScore&, const CascadeLevelScore&) = default;
};

/// A cascade's results under one cut, which holds between all its levels. Lists named [levels] have
/// an entry for each level of the cascade, cheapest first; lists named [levels - 1] have one for
/// each that goes on to the next.
struct CascadeCut {
  double cutoff = 1;               ///< c, 0 to 1: at or below it an input goes on
  std::optional<double> slope;     ///< k of random dispatch (Tabi eq. 4); nothing: a hard cut
  std::vector<double> weights;     ///< [levels - 1] w of the next level's softmax in the ensemble
  std::vector<double> shares;      ///< [levels] of all examples that the level answers; sum 1
  std::vector<double> accuracies;  ///< [levels] of the examples that it answers; 0 if none
  double accuracy = 0;             ///< of all examples
  std::vector<double> words_left;  ///< [levels - 1] share of the words of examples that go on
  /// The standard error of `accuracy` less the accuracy of the last level alone on the same
  /// examples, of which only those count that one of the two gets right; 0: unknown.
  double difference_error = 0;

  /// Returns whether some level's label is that of an ensemble.
  [[nodiscard]] bool HasEnsemble() const {
    return std::any_of(weights.begin(), weights.end(), [](double w) { return w < 1; });
  }
  friend bool operator==(const CascadeCut&, const CascadeCut&) = default;
};

/// A cascade of measured levels, which prunes words by one α between all of them.
struct CascadeScore {
  std::vector<uint32_t> levels;  ///< 2 or 3 indexes of Importance::cascade_levels, ascending
  double alpha = 0;              ///< α, 0 to 1 (Tabi eq. 5); 0 prunes nothing
  std::vector<CascadeCut> cuts;
  friend bool operator==(const CascadeScore&, const CascadeScore&) = default;
};

}  // namespace sti
