// Operands of low-precision products. A packed dword holds consecutive inputs: two in bfloat16,
// four in 8 bits; the CPU's dot-product instructions take dwords. "Step" is one dword's inputs.
//
// Weights are packed without the scales of hidden channels. Where the channels are inputs (Q, K, V,
// FFN1) the activations are multiplied by them, which are fewer; where they are outputs (O, FFN2)
// the sums are. So decoding is one table look-up of ready-made bf16 or 8-bit centroids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/checked.h"
#include "kernels/fp32/fused.h"
#include "kernels/gemm.h"
#include "shard/view.h"
#include "shard/weight_order.h"
#include "types/kernel.h"

namespace sti {

constexpr uint32_t PackedInputs(ComputeType type) { return type == ComputeType::kInt8 ? 4 : 2; }
constexpr uint32_t PackedSteps(ComputeType type, uint32_t ins) {
  return (ins + PackedInputs(type) - 1) / PackedInputs(type);
}
/// Dwords from one packed row to the next: whole vectors, and not a power of two.
constexpr size_t PackedStride(ComputeType type, uint32_t ins) {
  return (size_t{PackedSteps(type, ins)} + 15) / 16 * 16 + 16;
}

/// Packed activations. 8-bit rows stand for whole multiples of their scale.
struct PackedRows {
  uint32_t* data = nullptr;   ///< [rows, stride]
  size_t stride = 0;          ///< PackedStride, or kLeadingStride
  size_t chunk = 0;           ///< from each kLeadingSteps of a row to the next; 0: rows are whole
  float* scales = nullptr;    ///< [rows], int8 only; NaN where a number of the row is not finite
  int32_t* starts = nullptr;  ///< [rows], int8 only: -kCodeOffset times the row's sum
};

/// The rows that are multiplied while decoding lie in chunks of [kFusedRows, kLeadingStride], so
/// that one pointer and constants reach all of them.
inline constexpr uint32_t kLeadingSteps = 128;
inline constexpr size_t kLeadingStride = 144;
inline constexpr size_t kLeadingChunk = kFusedRows * kLeadingStride;
constexpr size_t LeadingDwords(ComputeType type, uint32_t ins) {
  return (size_t{PackedSteps(type, ins)} + kLeadingSteps - 1) / kLeadingSteps * kLeadingChunk;
}

/// Rounds rows, each number times its input's scale where `scales` is not null. Thread-safe.
void PackRows(ComputeType type, const RowsRef& in, const float* scales, const PackedRows& out);

/// The offset that 8-bit weights are stored with. The instruction of x86 takes one factor without
/// sign; PackedRows::starts takes that out of the sums again. That of aarch64 takes two with.
#if defined(__aarch64__)
inline constexpr int kCodeOffset = 0;
#else
inline constexpr int kCodeOffset = 128;
#endif

/// A panel of up to 16 outputs: [steps, 16] dwords.
struct PackedPanel {
  uint32_t* data = nullptr;  ///< aligned to 64 bytes; null where all rows are leading ones
  float* units = nullptr;    ///< [16] what the sums of each output are multiplied by
};

/// Weights of a tile that no code reaches. They are multiplied in fp32 when the sums are done.
class FarWeights {
 public:
  void Reserve(size_t count) { weights_.reserve(count); }
  void Add(uint32_t input, uint32_t column, float weight) {
    weights_.push_back({input, column, weight});
  }
  /// Adds weight * in[row, input] of all weights to c[row, column], then forgets the weights.
  void AddTo(const RowsRef& in, float* c, size_t c_stride);

 private:
  struct Weight {
    uint32_t input;
    uint32_t column;
    float weight;
  };
  std::vector<Weight> weights_;
};

/// Room for packed outliers of a tile's panels, each where its code is, and in front of them for
/// what has no place.
inline constexpr size_t kOverlayFront = 16;
constexpr size_t OverlayDwords(ComputeType type, uint32_t ins) {
  return kOverlayFront + kTilePanels * size_t{PackedSteps(type, ins)} * kPanelWidth;
}

/// The packed centroids of a layer's shards of one fidelity.
struct PackedTable {
  uint16_t words[64] = {};  ///< bf16 bits, or an 8-bit code plus kCodeOffset in the low byte
  float unit = 1;           ///< what a code's step is worth, in front of scales
  float factor = 1;         ///< its inverse, or 0
};

/// Packs the centroids of a coded shard; for one of full fidelity the table is not used.
/// Thread-safe.
PackedTable PackCentroids(ComputeType type, const ShardView& shard);

/// Returns whether panels of this matrix are multiplied while they are decoded: this machine has
/// the instructions and gains by it, and all panels are whole. Thread-safe.
bool CanFusePacked(ComputeType type, const ShardView& shard, const ShardMatrix& matrix);

/// Rows to multiply while panels are decoded: c [rows, width] as in PackedProduct.
struct LeadingProduct {
  PackedRows a;       ///< in chunks
  uint32_t rows = 0;  ///< 0..kFusedRows
  const float* start = nullptr;
  float* c = nullptr;
  size_t c_stride = 0;
};

/// The panels of `matrix` at outputs [out, out + width), `out` a multiple of kPanelWidth.
struct TileDecoding {
  ComputeType type;
  const ShardView& shard;
  const PackedTable& table;
  const ShardMatrix& matrix;
  uint32_t out = 0;
  uint32_t width = 0;           ///< 1..kTileWidth
  float* scratch = nullptr;     ///< ins * 16 floats rounded up to a multiple of 64
  uint32_t* overlay = nullptr;  ///< past kOverlayFront; all zeros before and after
  FarWeights& far;
};

/// Decodes into `panels`, and multiplies `leading` if there are such rows, which is where it can be
/// fused. Thread-safe.
void DecodePacked(const TileDecoding& decoding, const LeadingProduct& leading,
                  const PackedPanel (&panels)[kTilePanels]);

/// c [rows, width] = rows times panels, each sum times its row's scale and its output's unit, plus
/// `start` in each row, or plus c itself where `start` is null.
struct PackedProduct {
  const PackedRows& a;
  uint32_t rows = 0;
  uint32_t steps = 0;
  const uint32_t* panels[kTilePanels];  ///< the second is unused if width <= 16
  const float* units = nullptr;         ///< [kTileWidth]
  const float* start = nullptr;         ///< [width]
  float* c = nullptr;
  size_t c_stride = 0;
  uint32_t width = 0;  ///< 1..kTileWidth
};

/// Computes the product. A number of c depends neither on the other rows nor on the other columns.
/// Thread-safe.
void MultiplyPacked(ComputeType type, const PackedProduct& product);

// Attention of one head (kernels/lowp_attention.h) is products, and the parts below: keys and
// values become panels, and rows of scores become weights. Each has a plain form and one with the
// CPU's instructions (targets.h).

/// Returns the dwords of a head's packed keys, and of its packed values.
constexpr uint64_t PackedKeyDwords(uint32_t tokens, uint32_t head_dim) {
  return RoundUp(tokens, kPanelWidth) * PackedSteps(ComputeType::kBf16, head_dim);
}
constexpr uint64_t PackedValueDwords(uint32_t tokens, uint32_t head_dim) {
  return RoundUp(head_dim, kPanelWidth) * PackedSteps(ComputeType::kBf16, tokens);
}

/// Writes keys [tokens, head_dim] as panels of 16 tokens, each [steps, 16]; zeros past the last
/// token. `out` is aligned to 64 bytes.
void PackKeys(const RowsRef& keys, uint32_t* out);
/// Writes values [tokens, head_dim] as panels of 16 outputs, each [steps, 16]; zeros past the last
/// output. `out` is aligned to 64 bytes.
void PackValues(const RowsRef& values, uint32_t* out);
/// Sets the first `count` > 0 numbers of a row to 2^x over the sum of all 2^x, rounded to halves of
/// PackedSteps(count) dwords; all NaN where SoftmaxRow is. The row is aligned to 64 bytes and has
/// room for `count` rounded up to a multiple of 16.
void SoftmaxPacked(float* row, uint32_t count);

}  // namespace sti
