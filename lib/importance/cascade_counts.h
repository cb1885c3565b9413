// The fate of examples in a cascade, counted: which level answers them, and how well (Tabi 5). No
// model is needed for that: it takes the logits that each level gave, on the words that came to it.
// A level is calibrated first, by the temperature that makes softmax(logits / τ) a confidence one
// can count on (Tabi 4.1). A temperature is judged on examples that it was not fitted to: each half
// of the examples, every other one, is judged with the one that fits the other half best.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "types/cascade.h"
#include "types/importance.h"

namespace sti {

/// Returns the half that an example belongs to, 0 or 1.
constexpr size_t HalfOf(size_t example) { return example % 2; }

/// Logits of examples that have one label each. Not owning.
struct LabelledLogits {
  std::span<const float> logits;     ///< [examples, labels], all finite
  std::span<const uint32_t> truths;  ///< [examples]
  [[nodiscard]] size_t labels() const { return logits.size() / truths.size(); }
  [[nodiscard]] std::span<const float> Of(size_t example) const {
    return logits.subspan(example * labels(), labels());
  }
};

/// How well a level is calibrated.
struct Calibration {
  double temperature = 1;                   ///< τ that fits all examples; 1 unless it helps
  std::array<double, 2> for_half = {1, 1};  ///< τ for each half, fitted to the other; 1 likewise
  double nll = 0;                           ///< mean negative log-likelihood in nats, with τ = 1
  double calibrated_nll = 0;                ///< with for_half
  double ece = 0;                           ///< expected calibration error of 15 bins, with τ = 1
  double calibrated_ece = 0;                ///< with for_half
};

/// Fits and judges temperatures. There is at least one example. A temperature helps if the
/// negative log-likelihood of examples that it was not fitted to falls.
Calibration Calibrate(const LabelledLogits& examples);

/// The answers of one level to all examples, on the texts that come to it.
class LevelAnswers {
 public:
  /// `examples` are copied. Temperatures are those of `calibration`, which may be of other texts.
  LevelAnswers(const LabelledLogits& examples, const Calibration& calibration);

  [[nodiscard]] size_t examples() const { return right_.size(); }
  /// Returns the confidence for an example with the temperature of a fit: 0 and 1 are those that
  /// such a half of the examples is judged with, 2 is that of all.
  [[nodiscard]] double ConfidenceOf(size_t example, size_t fit) const {
    return confidence_[fit][example];
  }
  /// Returns whether the level's own label is right.
  [[nodiscard]] bool IsRight(size_t example) const { return right_[example]; }
  /// Returns whether the ensemble with the level before, at weight w of this one, is right.
  [[nodiscard]] bool IsRightAfter(const LevelAnswers& before, double weight, size_t example) const;

 private:
  std::span<const float> ProbabilitiesOf(size_t example) const;

  std::vector<uint32_t> truths_;      ///< [examples]
  std::vector<float> probabilities_;  ///< [examples, labels] at the temperature of its half
  std::vector<bool> right_;           ///< [examples]
  std::array<std::vector<double>, 3> confidence_;  ///< [fits][examples]
};

/// How many words an example had on one level, and how many go on to the next.
struct WordCount {
  uint32_t had = 0;
  uint32_t left = 0;
};

/// All that the levels of one cascade gave, under one α.
struct CascadeAnswers {
  std::vector<const LevelAnswers*> levels;           ///< 2 or 3, of the same examples
  std::vector<const std::vector<WordCount>*> words;  ///< [levels - 1][examples]
  const LevelAnswers* alone = nullptr;               ///< the last level's to the whole texts
};

/// A cut whose results are wanted.
struct CutChoice {
  double cutoff = 1;
  std::optional<double> slope;
  bool ensemble = false;  ///< weights by accuracy on re-routed examples; else w = 1
};

/// Counts the results of a cut.
CascadeCut CountCut(const CascadeAnswers& cascade, const CutChoice& choice);

}  // namespace sti
