// Label vectors make a classifier of a model that embeds. A label's vector is the mean of the
// embeddings of its examples, and a text has the label whose vector is nearest to its own
// (score/nearest.h). They stand in a file of their own (spec/label-vectors.md) since embeddings
// compare only if one model has given them under one plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"

namespace sti {

/// Holds a vector for each label, and says whose embeddings they are of. Plain data, safe to share
/// between threads while nobody writes.
struct LabelVectors {
  Digest model;                     ///< that gave the embeddings
  Digest submodel;                  ///< that it ran, with its bits (SubmodelDigest)
  Digest data;                      ///< DigestOfRows of the examples
  std::string prefix = {};          ///< in front of each text, as SessionOptions::prefix
  uint32_t dimensions = 0;          ///< numbers of a vector, the first so many of an embedding
  std::vector<std::string> labels;  ///< names, ascending by their bytes
  std::vector<uint32_t> examples;   ///< [labels] how many each has, at least 1
  std::vector<float> vectors;       ///< [labels, dimensions] each of unit length

  /// Returns the vector of a label.
  [[nodiscard]] std::span<const float> Of(size_t label) const {
    return std::span(vectors).subspan(label * dimensions, dimensions);
  }
};

/// Returns what is wrong with label vectors, whichever file or call they are from; empty if
/// nothing is. It bounds each size before it looks at what has that size.
std::string ProblemOfLabelVectors(const LabelVectors& vectors);

/// Returns the bytes of memory that label vectors take.
uint64_t BytesOf(const LabelVectors& vectors);

}  // namespace sti
