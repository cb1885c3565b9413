#include "network/tensors.h"

namespace sti {
namespace {

uint64_t LengthOf(Extent extent, const ModelShape& shape) {
  switch (extent) {
    case Extent::kOne:
      return 1;
    case Extent::kHidden:
      return shape.hidden;
    case Extent::kFfn:
      return shape.ffn;
    case Extent::kEmbedding:
      return shape.embedding_width();
    case Extent::kVocabulary:
      return shape.vocabulary;
    case Extent::kPositions:
      return shape.max_positions;
    case Extent::kTypes:
      return shape.token_types;
    case Extent::kLabels:
      return shape.labels;
    case Extent::kPatch:
      return shape.image ? shape.image->patch_values() : 0;
  }
  return 0;
}

}  // namespace

std::vector<TensorSpec> TensorsAt(Home home, const ModelShape& shape) {
  std::vector<TensorSpec> tensors;
  for (const TensorSpec& tensor : TensorsAt(home)) {
    if (HasTensor(tensor, shape)) tensors.push_back(tensor);
  }
  return tensors;
}

TensorSize SizeOf(const TensorSpec& tensor, const ModelShape& shape) {
  if (!HasTensor(tensor, shape)) return {};
  return {LengthOf(tensor.rows, shape), LengthOf(tensor.columns, shape)};
}

std::vector<uint64_t> ShapeOf(const TensorSpec& tensor, const ModelShape& shape) {
  const TensorSize size = SizeOf(tensor, shape);
  if (tensor.role == TensorRole::kPatchWeight && shape.image) {  // of a convolution
    return {size.rows, shape.image->channels, shape.image->patch, shape.image->patch};
  }
  if (tensor.role == TensorRole::kClassToken) return {1, 1, size.rows};
  if (tensor.role == TensorRole::kPatchPositions) return {1, size.rows, size.columns};
  if (tensor.columns == Extent::kOne) return {size.rows};
  return {size.rows, size.columns};
}

TensorSize SizeInSlice(const TensorSpec& tensor, const ModelShape& shape) {
  TensorSize size = SizeOf(tensor, shape);
  if (tensor.cut == Cut::kNone) return size;
  (IsCutByInputs(tensor) ? size.columns : size.rows) /= shape.width;
  return size;
}

uint64_t ValuesAt(Home home, const ModelShape& shape) {
  uint64_t values = 0;
  for (const TensorSpec& tensor : TensorsAt(home)) values += SizeOf(tensor, shape).count();
  return values;
}

uint64_t ShardWeights(const ModelShape& shape) {
  uint64_t weights = 0;
  for (const TensorSpec& matrix : TensorsAt(Home::kShard)) {
    weights += SizeInSlice(matrix, shape).count();
  }
  return weights;
}

uint64_t LayerWeights(const ModelShape& shape) { return ValuesAt(Home::kShard, shape); }

}  // namespace sti
