// The nearest label of an embedding (types/label_vectors.h). Cosines become logits, so that
// whatever reads a classifier's answer reads this one too: the label vectors are the last layer of
// a classifier that was never trained.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "types/label_vectors.h"

namespace sti {

/// A logit is so many times a cosine. Scores, the softmax of logits, are then about as often right
/// as they say (docs/measured/nearest.md).
inline constexpr double kLogitsPerCosine = 20;

/// Adds up the embeddings of labelled examples, and makes their vectors. One thread at a time.
class LabelMeans {
 public:
  LabelMeans(size_t labels, uint32_t dimensions);

  /// Adds an example's embedding [dimensions], of any length but 0: all examples count alike.
  void Add(uint32_t label, std::span<const float> embedding);
  /// Writes the counts and the vectors, of unit length. DataError that names a label, by its name
  /// in `to`, whose examples cancel out or that has none.
  [[nodiscard]] Status Finish(LabelVectors* to) const;

 private:
  uint32_t dimensions_;
  std::vector<uint32_t> examples_;  ///< [labels]
  std::vector<double> sums_;        ///< [labels, dimensions]
};

/// Writes the logits [labels] of an embedding [dimensions] of any length but 0: kLogitsPerCosine
/// times its cosine with each label's vector. Pure.
void NearestLogits(const LabelVectors& vectors, std::span<const float> embedding,
                   std::vector<float>* logits);

}  // namespace sti
