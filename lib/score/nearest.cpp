#include "score/nearest.h"

#include <cmath>

#include "types/score.h"

namespace sti {

LabelMeans::LabelMeans(size_t labels, uint32_t dimensions)
    : dimensions_(dimensions), examples_(labels), sums_(labels * dimensions) {}

void LabelMeans::Add(uint32_t label, std::span<const float> embedding) {
  ++examples_[label];
  const double length = LengthOf(embedding);
  const std::span<double> sum = std::span(sums_).subspan(size_t{label} * dimensions_, dimensions_);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += double{embedding[i]} / length;
}

Status LabelMeans::Finish(LabelVectors* to) const {
  constexpr double kLeastLength = 1e-4;  // of a mean; below it, rounding says where it points
  to->dimensions = dimensions_;
  to->examples = examples_;
  to->vectors.clear();
  to->vectors.reserve(sums_.size());
  for (size_t label = 0; label < examples_.size(); ++label) {
    const auto sum = std::span(sums_).subspan(label * dimensions_, dimensions_);
    double squares = 0;
    for (const double value : sum) squares += value * value;
    const double length = std::sqrt(squares);
    if (!(length > kLeastLength * examples_[label])) {
      return DataError(examples_[label] == 0
                           ? "label " + to->labels[label] + " has no examples"
                           : "the embeddings of label " + to->labels[label] +
                                 " cancel out, so that it is near to nothing; give it others");
    }
    for (const double value : sum) to->vectors.push_back(static_cast<float>(value / length));
  }
  return {};
}

void NearestLogits(const LabelVectors& vectors, std::span<const float> embedding,
                   std::vector<float>* logits) {
  const double factor = kLogitsPerCosine / LengthOf(embedding);
  logits->resize(vectors.labels.size());
  for (size_t label = 0; label < logits->size(); ++label) {
    (*logits)[label] = static_cast<float>(factor * InnerProduct(vectors.Of(label), embedding));
  }
}

}  // namespace sti
