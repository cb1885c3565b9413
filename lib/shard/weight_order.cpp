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

ShardMatrixTable ShardMatrices(const ModelShape& shape) {
  ShardMatrixTable matrices;
  uint64_t first = 0;
  uint32_t scales = 0;
  for (const TensorSpec& tensor : TensorsAt(Home::kShard)) {
    const TensorSize local = SizeInSlice(tensor, shape);
    matrices[tensor.role] = {static_cast<uint32_t>(local.rows),
                             static_cast<uint32_t>(local.columns), first, scales,
                             IsCutByInputs(tensor)};
    first += local.count();
    scales += shape.hidden;
  }
  return matrices;
}

std::vector<uint32_t> WeightOrder(const ModelShape& shape, uint32_t slice) {
  std::vector<uint32_t> order;
  order.reserve(ShardWeights(shape));
  const ShardMatrixTable local = ShardMatrices(shape);
  uint64_t first = 0;
  for (const TensorSpec& tensor : TensorsAt(Home::kShard)) {
    const TensorSize whole = SizeOf(tensor, shape);
    const ShardMatrix& matrix = local[tensor.role];
    const bool by_inputs = IsCutByInputs(tensor);
    AppendMatrix({.first = first,
                  .ins = whole.columns,
                  .row = by_inputs ? 0 : uint64_t{slice} * matrix.outs,
                  .column = by_inputs ? uint64_t{slice} * matrix.ins : 0},
                 matrix, order);
    first += whole.count();
  }
  return order;
}

}  // namespace sti
