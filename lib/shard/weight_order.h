// The order in which a shard's weights lie, in its parts and in memory.
//
// A shard is a slice's part of each matrix of a layer, one after the other in the order of
// network/tensors.h, each [outs, ins] as in y = W x. A matrix is cut into panels of kPanelWidth
// outputs (the last may be narrower); a panel is stored input by input, within an input output by
// output. So a panel of w outputs is `ins` rows of w weights, which is the order in which a matrix
// product that keeps w outputs in registers reads them: decoding a panel yields its B matrix with
// no transposition. The index of a weight in this order is its stream index.
#pragma once

#include <cstdint>
#include <vector>

#include "network/tensors.h"
#include "types/model_info.h"

namespace sti {

inline constexpr uint32_t kPanelWidth = 16;
/// A tile is panels side by side that rows are multiplied by together.
inline constexpr uint32_t kTilePanels = 2;
inline constexpr uint32_t kTileWidth = kTilePanels * kPanelWidth;

/// One of a shard's local matrices: where it begins in weight order, and its size.
struct ShardMatrix {
  uint32_t outs = 0;
  uint32_t ins = 0;
  uint64_t first = 0;             ///< stream index of its first weight
  uint32_t scales = 0;            ///< its first in ShardView::scales
  bool scaled_by_output = false;  ///< the hidden dimension is its outputs (O, FFN2), else inputs
};

/// The matrices of a shard, whose weights lie one behind the other in this order.
using ShardMatrixTable = ByRole<Home::kShard, ShardMatrix>;

/// Returns the matrices of a shard of this shape: Q, K, V [d/M, d]; O [d, d/M]; FFN1 [f/M, d]; FFN2
/// [d, f/M] (STI Table 1).
ShardMatrixTable ShardMatrices(const ModelShape& shape);

/// Inputs [in, in + ins) of the panel of `matrix` that begins at output `out`, a multiple of
/// kPanelWidth.
struct PanelStretch {
  const ShardMatrix& matrix;
  uint32_t out = 0;
  uint32_t in = 0;
  uint32_t ins = 0;

  /// Outputs of the panel, the width of its rows.
  [[nodiscard]] uint32_t width() const {
    return matrix.outs - out < kPanelWidth ? matrix.outs - out : kPanelWidth;
  }
  /// Returns the index in weight order of its first weight.
  [[nodiscard]] uint64_t first() const {
    return matrix.first + uint64_t{out} * matrix.ins + uint64_t{in} * width();
  }
};

/// Returns for each weight of slice `slice`, in weight order, its flat index in the layer: in Q, K,
/// V, O, FFN1, FFN2 one after the other, each [outs, ins] row-major.
std::vector<uint32_t> WeightOrder(const ModelShape& shape, uint32_t slice);

}  // namespace sti
