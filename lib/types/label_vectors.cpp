#include "types/label_vectors.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "types/limits.h"
#include "types/model_info.h"
#include "types/score.h"

namespace sti {
namespace {

constexpr double kMostOffUnitLength = 1e-3;  // rounding of 16384 numbers is far below it

bool IsOfUnitLength(std::span<const float> vector) {
  return std::abs(LengthOf(vector) - 1) <= kMostOffUnitLength;  // false for what is no number
}

}  // namespace

std::string ProblemOfLabelVectors(const LabelVectors& vectors) {
  const size_t count = vectors.labels.size();
  if (vectors.model.empty()) return "model is missing";
  if (vectors.submodel.empty()) return "submodel is missing";
  if (vectors.data.empty()) return "data is missing";
  if (vectors.prefix.size() > kMaxPrefixBytes || !IsUtf8(vectors.prefix))
    return "prefix is not at most 4096 bytes of UTF-8";
  if (vectors.dimensions == 0 || vectors.dimensions > kMaxHidden)
    return "dimensions is not 1 to 16384";
  if (count < 2 || count > kMaxLabels) return "there are not 2 to 65536 labels";
  if (vectors.examples.size() != count) return "examples is not one number a label";
  if (vectors.vectors.size() != uint64_t{count} * vectors.dimensions)
    return "vectors is not one vector a label";
  std::string problem = ProblemOfLabels(vectors.labels);
  if (!problem.empty()) return problem;
  if (!std::ranges::is_sorted(vectors.labels)) return "labels do not ascend";
  if (std::ranges::count(vectors.examples, 0U) != 0) return "a label has no examples";
  for (size_t label = 0; label < count; ++label) {
    if (!IsOfUnitLength(vectors.Of(label)))
      return "the vector of label " + std::to_string(label) + " is not of unit length";
  }
  return "";
}

uint64_t BytesOf(const LabelVectors& vectors) {
  uint64_t bytes = vectors.prefix.size() + vectors.examples.size() * sizeof(uint32_t) +
                   vectors.vectors.size() * sizeof(float);
  for (const std::string& label : vectors.labels) bytes += sizeof(std::string) + label.size();
  return bytes;
}

}  // namespace sti
