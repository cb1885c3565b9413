#include "importance/dense_layer.h"

#include <cstring>

#include "kernels/decode_shard.h"
#include "kernels/dense.h"
#include "network/tensors.h"
#include "shard/weight_order.h"

namespace sti {
namespace {

// One slice's part of one matrix. Decoded panels are [ins, panel] rows, as the dense matrix has
// them.
void DecodePart(const ShardView& shard, const ShardMatrix& matrix, uint32_t slice,
                DenseMatrix* dense) {
  const uint32_t first_out = matrix.scaled_by_output ? 0 : slice * matrix.outs;
  const uint32_t first_in = matrix.scaled_by_output ? slice * matrix.ins : 0;
  // Decoding may write up to a multiple of 64 weights.
  std::vector<float> panel(size_t{matrix.ins} * kPanelWidth + 64);
  for (uint32_t out = 0; out < matrix.outs; out += kPanelWidth) {
    const PanelStretch stretch{matrix, out, 0, matrix.ins};
    DecodePanel(shard, stretch, panel.data());
    const uint32_t width = stretch.width();
    for (uint32_t in = 0; in < matrix.ins; ++in) {
      std::memcpy(&dense->weights[size_t{first_in + in} * dense->outs + first_out + out],
                  &panel[size_t{in} * width], width * sizeof(float));
    }
  }
}

}  // namespace

void DecodeLayer(const ModelShape& shape, std::span<const ShardView> slices, ThreadPool& pool,
                 DenseLayer* layer) {
  const ShardMatrixTable matrices = ShardMatrices(shape);
  const std::span<const TensorSpec> tensors = TensorsAt(Home::kShard);
  for (const TensorSpec& tensor : tensors) {
    const TensorSize size = SizeOf(tensor, shape);
    DenseMatrix& dense = (*layer)[tensor.role];
    dense.ins = static_cast<uint32_t>(size.columns);
    dense.outs = static_cast<uint32_t>(size.rows);
    dense.weights.resize(size.count() + kDenseSlack);
  }
  const auto count = static_cast<uint32_t>(tensors.size());
  pool.ParallelFor(shape.width * count, [&](uint32_t index, uint32_t) {
    const TensorRole role = tensors[index % count].role;
    const uint32_t slice = index / count;
    DecodePart(slices[slice], matrices[role], slice, &(*layer)[role]);
  });
}

void Subtract(const DenseLayer& other, DenseLayer* layer) {
  for (const TensorSpec& tensor : TensorsAt(Home::kShard)) {
    const std::vector<float>& taken = other[tensor.role].weights;
    std::vector<float>& weights = (*layer)[tensor.role].weights;
    for (size_t i = 0; i < weights.size(); ++i) weights[i] -= taken[i];
  }
}

}  // namespace sti
