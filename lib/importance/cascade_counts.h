// Counts what becomes of examples in a cascade: which level answers them, and how well (Tabi 5).
//
// It has no model: it takes the logits that each level gave, on the words that came to it. Numbers
// of one half of the examples come from temperatures and weights that fit the other.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "importance/calibration.h"
#include "types/cascade.h"
#include "types/cascade_score.h"

namespace sti {

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
