#include "score/label_counts.h"

#include <algorithm>

namespace sti {

namespace {

double ShareOf(uint64_t part, uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

double LabelCount::Precision() const { return ShareOf(right, given); }
double LabelCount::Recall() const { return ShareOf(right, examples); }

double LabelCount::F1() const {
  if (!occurs()) return 0;
  return 2 * static_cast<double>(right) / static_cast<double>(examples + given);
}

LabelCount& LabelCounts::CountOf(uint32_t label) {
  if (label >= labels_.size()) labels_.resize(size_t{label} + 1);
  return labels_[label];
}

void LabelCounts::Add(std::span<const uint32_t> truth, std::span<const uint32_t> given) {
  for (const uint32_t label : truth) ++CountOf(label).examples;
  for (const uint32_t label : given) {
    LabelCount& count = CountOf(label);
    ++count.given;
    count.right += std::binary_search(truth.begin(), truth.end(), label) ? 1 : 0;
  }
  if (truth.size() == 1 && given.size() == 1) ++confusion_[{truth[0], given[0]}];
}

void LabelCounts::AddSpan(uint32_t label, bool has, bool was_given) {
  LabelCount& count = CountOf(label);
  count.examples += has ? 1 : 0;
  count.given += was_given ? 1 : 0;
  count.right += has && was_given ? 1 : 0;
}

void LabelCounts::AddUnanswered(std::span<const uint32_t> truth) {
  for (const uint32_t label : truth) {
    LabelCount& count = CountOf(label);
    ++count.examples;
    ++count.unanswered;
  }
}

double LabelCounts::MacroF1() const {
  double sum = 0;
  uint64_t occurring = 0;
  for (const LabelCount& count : labels_) {
    sum += count.F1();
    occurring += count.occurs() ? 1 : 0;
  }
  return occurring == 0 ? 0 : sum / static_cast<double>(occurring);
}

double LabelCounts::F1(uint32_t label) const {
  return label < labels_.size() ? labels_[label].F1() : 0;
}

}  // namespace sti
