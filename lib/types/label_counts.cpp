#include "types/label_counts.h"

#include <algorithm>

namespace sti {

double LabelCount::F1() const {
  if (!occurs()) return 0;
  return 2 * static_cast<double>(right) / static_cast<double>(examples + given);
}

void LabelCounts::Add(std::span<const uint32_t> truth, std::span<const uint32_t> given) {
  const auto count_of = [&](uint32_t label) -> LabelCount& {
    if (label >= labels_.size()) labels_.resize(size_t{label} + 1);
    return labels_[label];
  };
  for (const uint32_t label : truth) ++count_of(label).examples;
  for (const uint32_t label : given) {
    LabelCount& count = count_of(label);
    ++count.given;
    count.right += std::binary_search(truth.begin(), truth.end(), label) ? 1 : 0;
  }
  if (truth.size() == 1 && given.size() == 1) ++confusion_[{truth[0], given[0]}];
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
