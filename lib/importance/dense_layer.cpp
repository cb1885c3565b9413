#include "importance/dense_layer.h"

#include <cstring>

#include "kernels/decode_shard.h"
#include "kernels/dense.h"

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
  const auto matrices = ShardMatrices(shape);
  for (uint32_t m = 0; m < kShardMatrices; ++m) {
    const bool summed = matrices[m].scaled_by_output;
    DenseMatrix& dense = (*layer)[m];
    dense.ins = matrices[m].ins * (summed ? shape.width : 1);
    dense.outs = matrices[m].outs * (summed ? 1 : shape.width);
    dense.weights.resize(size_t{dense.ins} * dense.outs + kDenseSlack);
  }
  pool.ParallelFor(shape.width * kShardMatrices, [&](uint32_t index, uint32_t) {
    const uint32_t m = index % kShardMatrices;
    const uint32_t slice = index / kShardMatrices;
    DecodePart(slices[slice], matrices[m], slice, &(*layer)[m]);
  });
}

void Subtract(const DenseLayer& other, DenseLayer* layer) {
  for (uint32_t m = 0; m < kShardMatrices; ++m) {
    const std::vector<float>& taken = other[m].weights;
    std::vector<float>& weights = (*layer)[m].weights;
    for (size_t i = 0; i < weights.size(); ++i) weights[i] -= taken[i];
  }
}

}  // namespace sti
