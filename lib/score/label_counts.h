// The counts of labels that examples have and that a model gives them: for each label, with the F1
// scores that follow, and, where an example has one label, the confusion of one label with another.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace sti {

/// The counts of one label.
struct LabelCount {
  uint64_t examples = 0;    ///< that have it
  uint64_t given = 0;       ///< that were given it
  uint64_t right = 0;       ///< that have it and were given it
  uint64_t unanswered = 0;  ///< that have it and got no answer, which is not to be given no label

  /// Returns whether it is of any example, by the truth or by the model.
  [[nodiscard]] bool occurs() const { return examples + given > 0; }
  /// Returns the share of those given it that have it, and of those that have it that were given
  /// it; 0 of none.
  [[nodiscard]] double Precision() const;
  [[nodiscard]] double Recall() const;
  /// Returns the harmonic mean of precision and recall; 0 if the label does not occur.
  [[nodiscard]] double F1() const;
};

/// Adds up examples.
class LabelCounts {
 public:
  /// Adds an example that has the labels `truth` and was given the labels `given`; both ascending.
  void Add(std::span<const uint32_t> truth, std::span<const uint32_t> given);

  /// Adds one span of the kind `label`: one that a text has, that a model gave it, or both.
  void AddSpan(uint32_t label, bool has, bool was_given);

  /// Adds an example that has the labels `truth` and got no answer.
  void AddUnanswered(std::span<const uint32_t> truth);

  /// Returns the counts of label i at [i]; labels above the highest that occurs are left out.
  [[nodiscard]] const std::vector<LabelCount>& labels() const { return labels_; }

  /// Returns how many examples that have the first label were given the second, for those pairs
  /// that occur. An example without an answer, or without exactly one label either way, is not in
  /// it.
  [[nodiscard]] const std::map<std::pair<uint32_t, uint32_t>, uint64_t>& confusion() const {
    return confusion_;
  }

  /// Returns the mean F1 of all labels that occur, each counting alike; 0 if none does.
  [[nodiscard]] double MacroF1() const;
  /// Returns the F1 of one label.
  [[nodiscard]] double F1(uint32_t label) const;

 private:
  LabelCount& CountOf(uint32_t label);

  std::vector<LabelCount> labels_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> confusion_;
};

}  // namespace sti
