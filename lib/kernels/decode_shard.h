// The weights of one shard as they lie in memory after a read, and the order they lie in.
//
// Weight order ("stream order"). A shard is six local matrices in the order Q, K, V, O, FFN1, FFN2,
// each [outs, ins] as in y = W x. A matrix is cut into panels of kPanelWidth outputs (the last may
// be narrower); a panel is stored input by input, within an input output by output. So a panel of w
// outputs is `ins` rows of w weights, which is the order in which a matrix product that keeps w
// outputs in registers reads them: decoding a panel yields its B matrix with no transposition.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "types/model_info.h"

namespace sti {

inline constexpr uint32_t kPanelWidth = 16;
/// A tile is panels side by side that rows are multiplied by together.
inline constexpr uint32_t kTilePanels = 2;
inline constexpr uint32_t kTileWidth = kTilePanels * kPanelWidth;

/// One of a shard's local matrices: where it begins in stream order, and its size.
struct ShardMatrix {
  uint32_t outs = 0;
  uint32_t ins = 0;
  uint64_t first = 0;             ///< stream index of its first weight
  uint32_t scales = 0;            ///< its first in ShardView::scales
  bool scaled_by_output = false;  ///< the hidden dimension is its outputs (O, FFN2), else inputs
};

enum ShardMatrixIndex { kQuery = 0, kKey, kValue, kOutput, kFfn1, kFfn2, kShardMatrices };

/// The six matrices of a shard of this shape: Q, K, V [d/M, d]; O [d, d/M]; FFN1 [f/M, d];
/// FFN2 [d, f/M] (STI Table 1).
std::array<ShardMatrix, kShardMatrices> ShardMatrices(const ModelShape& shape);

/// Exactly kept weights of a shard, by ascending stream index. Positions are split into blocks of
/// 65,536 weights: block b's outliers are [block_starts[b], block_starts[b + 1]) of `lows`.
struct OutlierView {
  uint32_t count = 0;
  uint32_t blocks = 0;
  const uint8_t* block_starts = nullptr;  ///< u32 little endian [blocks + 1], 4-byte aligned
  const uint8_t* lows = nullptr;          ///< u16 little endian [count]: stream index mod 65,536
  const uint8_t* values = nullptr;        ///< [count] in `type`
};

/// One loaded shard. Not owning; what it points to outlives its use. Validated by whoever fills it:
/// counts fit the shard, positions ascend.
struct ShardView {
  uint32_t bits = 0;               ///< 2..6, or kFullBits
  DataType type = DataType::kF32;  ///< of outliers and of full-fidelity weights
  /// Bit planes, most significant first; plane p holds bit (bits - 1 - p) of each code: weight i at
  /// bit (i mod 8) of byte i / 8. Readable to the next multiple of 64 bytes. 64-byte aligned.
  std::array<const uint8_t*, 6> planes{};
  const float* centroids = nullptr;  ///< [1 << bits]
  /// [6, hidden], a scale for each hidden channel of each matrix, which centroids are multiplied
  /// by; null if the codebook has none. Outliers and full-fidelity weights are not scaled.
  const float* scales = nullptr;
  OutlierView outliers;
  const uint8_t* full = nullptr;  ///< [weights] in `type`, stream order; for kFullBits
};

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
  /// Stream index of its first weight.
  [[nodiscard]] uint64_t first() const {
    return matrix.first + uint64_t{out} * matrix.ins + uint64_t{in} * width();
  }
};

/// Writes the weights of a stretch, [ins, width]: scaled centroids, outliers patched in; or the
/// converted full-fidelity values. `out` has room for ins * width rounded up to a multiple of 64.
/// Thread-safe.
void DecodePanel(const ShardView& shard, const PanelStretch& stretch, float* out);

/// All weights of a shard of `shape`, in stream order. Thread-safe.
std::vector<float> DecodeShard(const ShardView& shard, const ModelShape& shape);

/// Writes `count` weights of a shard without scales from stream index `first` on, which needs no
/// alignment; room as in DecodePanel. Thread-safe.
void DecodeWeights(const ShardView& shard, uint64_t first, uint64_t count, float* out);

}  // namespace sti
