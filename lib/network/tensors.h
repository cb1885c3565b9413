// The tensors of a network are listed here and nowhere else: what each is for, its size, where a
// container keeps it, and how it is cut into shards. All that follows from the list is derived from
// it: a shard's weights and their order, sizes of resident parts, digests, names in published
// files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "types/model_info.h"

namespace sti {

/// The role of a tensor says what a model uses it for. Roles stand in the order of their homes, and
/// within a home in stored order (spec/container.md), which for the matrices of a layer is also the
/// order that quantisation and ties are defined by.
enum class TensorRole : uint8_t {
  kQueryWeight,
  kKeyWeight,
  kValueWeight,
  kOutputWeight,
  kFfn1Weight,
  kFfn2Weight,
  kQueryBias,
  kKeyBias,
  kValueBias,
  kOutputBias,
  kAttentionNormWeight,  ///< of the norm behind attention, or before (ModelShape::norm_before)
  kAttentionNormBias,
  kFfn1Bias,
  kFfn2Bias,
  kOutputNormWeight,  ///< of the norm behind the FFN, or before
  kOutputNormBias,
  kTypeEmbeddings,
  kEmbeddingNormWeight,
  kEmbeddingNormBias,
  kProjectionWeight,  ///< from the sum of embeddings to d, where they have another width
  kProjectionBias,
  kPatchWeight,  ///< from the values of a patch to d
  kPatchBias,
  kClassToken,       ///< the embedding of the token in front of an image's patches
  kPatchPositions,   ///< position embeddings of a model of images, which needs all of them
  kFinalNormWeight,  ///< of the norm behind the last layer
  kFinalNormBias,
  kPoolerWeight,
  kPoolerBias,
  kClassifierWeight,
  kClassifierBias,
  kWordEmbeddings,
  kPositionEmbeddings,
};

/// The home of a tensor is where a container keeps it.
enum class Home : uint8_t {
  kShard,      ///< a layer's matrices, cut into slices, each stored at several bits
  kLayer,      ///< a resident part for each layer
  kEmbedding,  ///< one resident part
  kHead,       ///< one resident part
  kRows,       ///< a table of which rows are read one by one
};

/// A dimension of a tensor. spec/terms.md has the letters.
enum class Extent : uint8_t {
  kOne,         ///< 1: the tensor is a vector
  kHidden,      ///< d
  kFfn,         ///< f
  kEmbedding,   ///< E
  kVocabulary,  ///< V
  kPositions,   ///< P
  kTypes,       ///< T
  kLabels,      ///< C
  kPatch,       ///< values of a patch
};

/// The way in which the slices of a layer share a tensor (STI Table 1). Outputs are rows, as in y =
/// W x, and inputs are columns.
enum class Cut : uint8_t {
  kNone,             ///< all of it counts for each slice, and once for all of them together
  kOutputsByHead,    ///< slice s has outputs [s * d/M, (s + 1) * d/M)
  kInputsByHead,     ///< slice s has inputs [s * d/M, (s + 1) * d/M)
  kOutputsByNeuron,  ///< slice s has outputs [s * f/M, (s + 1) * f/M)
  kInputsByNeuron,   ///< slice s has inputs [s * f/M, (s + 1) * f/M)
};

/// The form in which a resident tensor stays in memory.
enum class Held : uint8_t {
  kAsFloats,
  kAsStored,  ///< in the type of the file, and widened row by row when it is used
};

/// Describes a tensor: `rows` x `columns` numbers, row-major.
struct TensorSpec {
  TensorRole role;
  Extent rows;
  Extent columns;
  Home home;
  Cut cut = Cut::kNone;
  Held held = Held::kAsFloats;
};

/// All tensors, by role.
inline constexpr std::array kTensors = [] {
  using enum TensorRole;
  using enum Extent;
  using enum Cut;
  return std::to_array<TensorSpec>({
      {kQueryWeight, kHidden, kHidden, Home::kShard, kOutputsByHead},
      {kKeyWeight, kHidden, kHidden, Home::kShard, kOutputsByHead},
      {kValueWeight, kHidden, kHidden, Home::kShard, kOutputsByHead},
      {kOutputWeight, kHidden, kHidden, Home::kShard, kInputsByHead},
      {kFfn1Weight, kFfn, kHidden, Home::kShard, kOutputsByNeuron},
      {kFfn2Weight, kHidden, kFfn, Home::kShard, kInputsByNeuron},
      {kQueryBias, kHidden, kOne, Home::kLayer, kOutputsByHead},
      {kKeyBias, kHidden, kOne, Home::kLayer, kOutputsByHead},
      {kValueBias, kHidden, kOne, Home::kLayer, kOutputsByHead},
      {kOutputBias, kHidden, kOne, Home::kLayer},
      {kAttentionNormWeight, kHidden, kOne, Home::kLayer},
      {kAttentionNormBias, kHidden, kOne, Home::kLayer},
      {kFfn1Bias, kFfn, kOne, Home::kLayer, kOutputsByNeuron},
      {kFfn2Bias, kHidden, kOne, Home::kLayer},
      {kOutputNormWeight, kHidden, kOne, Home::kLayer},
      {kOutputNormBias, kHidden, kOne, Home::kLayer},
      {kTypeEmbeddings, kTypes, kEmbedding, Home::kEmbedding},
      {kEmbeddingNormWeight, kEmbedding, kOne, Home::kEmbedding},
      {kEmbeddingNormBias, kEmbedding, kOne, Home::kEmbedding},
      {kProjectionWeight, kHidden, kEmbedding, Home::kEmbedding},
      {kProjectionBias, kHidden, kOne, Home::kEmbedding},
      {kPatchWeight, kHidden, kPatch, Home::kEmbedding},
      {kPatchBias, kHidden, kOne, Home::kEmbedding},
      {kClassToken, kHidden, kOne, Home::kEmbedding},
      {kPatchPositions, kPositions, kHidden, Home::kEmbedding},
      {kFinalNormWeight, kHidden, kOne, Home::kHead},
      {kFinalNormBias, kHidden, kOne, Home::kHead},
      {kPoolerWeight, kHidden, kHidden, Home::kHead, kNone, Held::kAsStored},
      {kPoolerBias, kHidden, kOne, Home::kHead},
      {kClassifierWeight, kLabels, kHidden, Home::kHead},
      {kClassifierBias, kLabels, kOne, Home::kHead},
      {kWordEmbeddings, kVocabulary, kEmbedding, Home::kRows},
      {kPositionEmbeddings, kPositions, kEmbedding, Home::kRows},
  });
}();

static_assert([] {
  for (size_t i = 0; i < kTensors.size(); ++i) {
    if (static_cast<size_t>(kTensors[i].role) != i) return false;
    if (i > 0 && kTensors[i].home < kTensors[i - 1].home) return false;
  }
  return true;
}());

constexpr const TensorSpec& SpecOf(TensorRole role) { return kTensors[static_cast<size_t>(role)]; }

/// Returns the number of tensors that have a home.
constexpr size_t CountAt(Home home) {
  size_t count = 0;
  for (const TensorSpec& tensor : kTensors) count += tensor.home == home ? 1 : 0;
  return count;
}

/// Returns the number of the first role of a home.
constexpr size_t FirstAt(Home home) {
  size_t first = 0;
  while (kTensors[first].home != home) ++first;
  return first;
}

/// Returns the tensors that may have a home, in stored order.
constexpr std::span<const TensorSpec> TensorsAt(Home home) {
  return std::span(kTensors).subspan(FirstAt(home), CountAt(home));
}

/// Returns whether a model of `shape` has a tensor. One that it lacks has no values.
constexpr bool HasTensor(const TensorSpec& tensor, const ModelShape& shape) {
  switch (tensor.role) {
    case TensorRole::kTypeEmbeddings:
      return shape.token_types > 0;
    case TensorRole::kEmbeddingNormWeight:
    case TensorRole::kEmbeddingNormBias:
      return !shape.norm_before;
    case TensorRole::kPatchWeight:
    case TensorRole::kPatchBias:
    case TensorRole::kClassToken:
    case TensorRole::kPatchPositions:
      return shape.image.has_value();
    case TensorRole::kWordEmbeddings:
    case TensorRole::kPositionEmbeddings:
      return !shape.image.has_value();
    case TensorRole::kFinalNormWeight:
    case TensorRole::kFinalNormBias:
      return shape.norm_before;
    case TensorRole::kProjectionWeight:
    case TensorRole::kProjectionBias:
      return shape.embedding.has_value();
    case TensorRole::kPoolerWeight:
    case TensorRole::kPoolerBias:
      return shape.has_pooler;
    case TensorRole::kClassifierWeight:
    case TensorRole::kClassifierBias:
      return shape.labels > 0;
    default:
      return true;
  }
}

/// Returns the tensors that have a home in a model of `shape`, in stored order.
std::vector<TensorSpec> TensorsAt(Home home, const ModelShape& shape);

/// Returns whether a tensor exists once a layer; the others exist once.
constexpr bool IsOfLayer(const TensorSpec& tensor) {
  return tensor.home == Home::kShard || tensor.home == Home::kLayer;
}

/// Holds a value for each tensor of one home. Goes through them in stored order.
template <Home kHome, typename T>
class ByRole {
 public:
  constexpr T& operator[](TensorRole role) { return values_[PlaceOf(role)]; }
  constexpr const T& operator[](TensorRole role) const { return values_[PlaceOf(role)]; }
  [[nodiscard]] static constexpr size_t size() { return CountAt(kHome); }
  constexpr auto begin() { return values_.begin(); }
  constexpr auto end() { return values_.end(); }
  [[nodiscard]] constexpr auto begin() const { return values_.begin(); }
  [[nodiscard]] constexpr auto end() const { return values_.end(); }

 private:
  static constexpr size_t PlaceOf(TensorRole role) {
    return static_cast<size_t>(role) - FirstAt(kHome);
  }

  std::array<T, CountAt(kHome)> values_{};
};

/// The rows and columns of a matrix, or of a vector, which has one column.
struct TensorSize {
  uint64_t rows = 0;
  uint64_t columns = 0;
  [[nodiscard]] constexpr uint64_t count() const { return rows * columns; }
};

/// Returns the size of a whole tensor in a model of `shape`; 0 x 0 if the model lacks it.
TensorSize SizeOf(const TensorSpec& tensor, const ModelShape& shape);

/// Returns the shape that published files give it: [rows, columns], or [rows] of a vector, and what
/// images are embedded by with more extents.
std::vector<uint64_t> ShapeOf(const TensorSpec& tensor, const ModelShape& shape);

/// Returns the size of the part of it that one slice has; all of it where it is not cut.
TensorSize SizeInSlice(const TensorSpec& tensor, const ModelShape& shape);

/// Returns the values of all tensors that have a home together; of kShard and kLayer, those of one
/// layer.
uint64_t ValuesAt(Home home, const ModelShape& shape);

/// Returns the number of weights of one shard: the slice's part of each matrix of a layer.
uint64_t ShardWeights(const ModelShape& shape);

/// Returns the number of weights of a whole layer, the sum over its slices.
uint64_t LayerWeights(const ModelShape& shape);

/// Returns whether slices have inputs of their own and share all outputs, as with the matrices
/// whose products are added up.
constexpr bool IsCutByInputs(const TensorSpec& tensor) {
  return tensor.cut == Cut::kInputsByHead || tensor.cut == Cut::kInputsByNeuron;
}

/// Returns whether slices share a tensor by the model's heads.
constexpr bool IsCutByHead(const TensorSpec& tensor) {
  return tensor.cut == Cut::kOutputsByHead || tensor.cut == Cut::kInputsByHead;
}

}  // namespace sti
