#include "shard/weight_order.h"

#include <algorithm>

namespace sti {
namespace {

// One of the layer's whole matrices, and the part of it that a slice owns.
struct LayerMatrix {
  uint64_t first;  // flat index of its first weight
  uint64_t ins;    // of the whole matrix: its row stride
  uint64_t row;    // the slice's first row
  uint64_t column;
};

void AppendMatrix(const LayerMatrix& whole, const ShardMatrix& local,
                  std::vector<uint32_t>& order) {
  for (uint32_t panel = 0; panel < local.outs; panel += kPanelWidth) {
    uint32_t end = std::min(panel + kPanelWidth, local.outs);
    for (uint32_t in = 0; in < local.ins; ++in) {
      for (uint32_t out = panel; out < end; ++out) {
        uint64_t flat = whole.first + (whole.row + out) * whole.ins + whole.column + in;
        order.push_back(static_cast<uint32_t>(flat));
      }
    }
  }
}

}  // namespace

std::array<ShardMatrix, kShardMatrices> ShardMatrices(const ModelShape& shape) {
  const uint32_t head = shape.head_dim();
  const uint32_t ffn = shape.slice_ffn();
  std::array<ShardMatrix, kShardMatrices> matrices = {{{head, shape.hidden},
                                                       {head, shape.hidden},
                                                       {head, shape.hidden},
                                                       {shape.hidden, head},
                                                       {ffn, shape.hidden},
                                                       {shape.hidden, ffn}}};
  matrices[kOutput].scaled_by_output = true;
  matrices[kFfn2].scaled_by_output = true;
  uint64_t first = 0;
  uint32_t scales = 0;
  for (ShardMatrix& matrix : matrices) {
    matrix.first = first;
    matrix.scales = scales;
    first += uint64_t{matrix.outs} * matrix.ins;
    scales += shape.hidden;
  }
  return matrices;
}

uint64_t LayerWeights(const ModelShape& shape) { return shape.shard_weights() * shape.width; }

std::vector<uint32_t> WeightOrder(const ModelShape& shape, uint32_t slice) {
  uint64_t d = shape.hidden;
  uint64_t f = shape.ffn;
  uint64_t head = uint64_t{slice} * shape.head_dim();
  uint64_t neuron = uint64_t{slice} * shape.slice_ffn();
  // Q, K, V and FFN1 are cut by rows (outputs), O and FFN2 by columns (inputs): STI Table 1.
  const LayerMatrix whole[kShardMatrices] = {
      {0, d, head, 0},         {d * d, d, head, 0},       {2 * d * d, d, head, 0},
      {3 * d * d, d, 0, head}, {4 * d * d, d, neuron, 0}, {4 * d * d + d * f, f, 0, neuron},
  };
  std::vector<uint32_t> order;
  order.reserve(shape.shard_weights());
  auto local = ShardMatrices(shape);
  for (int m = 0; m < kShardMatrices; ++m) AppendMatrix(whole[m], local[m], order);
  return order;
}

}  // namespace sti
