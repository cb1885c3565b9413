// Operands of low-precision products. A packed dword holds consecutive inputs: two in bfloat16,
// four in 8 bits; the CPU's dot-product instructions take dwords. "Step" is one dword's inputs.
//
// Weights are packed without the scales of hidden channels. Where the channels are inputs (Q, K, V,
// FFN1) the activations are multiplied by them, which are fewer; where they are outputs (O, FFN2)
// the sums are. So decoding is one table look-up of ready-made bf16 or 8-bit centroids.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/shard_view.h"
#include "types/compute_type.h"

namespace sti {

constexpr uint32_t PackedInputs(ComputeType type) { return type == ComputeType::kInt8 ? 4 : 2; }
constexpr uint32_t PackedSteps(ComputeType type, uint32_t ins) {
  return (ins + PackedInputs(type) - 1) / PackedInputs(type);
}
/// Dwords from one packed row to the next: whole vectors, and not a power of two.
constexpr size_t PackedStride(ComputeType type, uint32_t ins) {
  return (size_t{PackedSteps(type, ins)} + 15) / 16 * 16 + 16;
}

/// Activations as they come: [rows, ins].
struct RowsRef {
  const float* data = nullptr;
  size_t stride = 0;
  uint32_t rows = 0;
  uint32_t ins = 0;
};

/// Packed activations. 8-bit rows stand for whole multiples of their scale.
struct PackedRows {
  uint32_t* data = nullptr;   ///< [rows, stride]
  size_t stride = 0;          ///< PackedStride
  float* scales = nullptr;    ///< [rows], int8 only; NaN where a number of the row is not finite
  int32_t* starts = nullptr;  ///< [rows], int8 only: -128 times the row's sum, see PackedPanel
};

/// Rounds rows, each number times its input's scale where `scales` is not null. Thread-safe.
void PackRows(ComputeType type, const RowsRef& in, const float* scales, const PackedRows& out);

/// A panel of up to 16 outputs: [steps, 16] dwords. 8-bit weights are stored plus 128, since the
/// instruction takes one factor without sign; PackedRows::starts takes that out of the sums again.
struct PackedPanel {
  uint32_t* data = nullptr;  ///< aligned to 64 bytes
  float* units = nullptr;    ///< [16] what the sums of each output are multiplied by
};

/// Where weights go that no 8-bit code reaches: c[row, out] += weight * in[row, input], in fp32.
struct FarWeights {
  RowsRef in;
  float* c = nullptr;  ///< [in.rows, 16] of this panel
  size_t c_stride = 0;

  void Add(uint32_t input, uint32_t out, float weight) const;
};

/// The packed centroids of a shard, which all its panels share.
struct PackedTable {
  uint16_t words[64] = {};  ///< bf16 bits, or an 8-bit code plus 128 in the low byte
  float unit = 1;           ///< what a code's step is worth, in front of scales
  float factor = 1;         ///< its inverse, or 0
};

/// Of a coded shard; for one of full fidelity, whatever. Thread-safe.
PackedTable PackCentroids(ComputeType type, const ShardView& shard);

/// Decodes the panel of `matrix` at output `out`, a multiple of kPanelWidth. `scratch` has room for
/// ins * 16 floats rounded up to a multiple of 64. Thread-safe.
void DecodePacked(ComputeType type, const ShardView& shard, const PackedTable& table,
                  const ShardMatrix& matrix, uint32_t out, const FarWeights& far, float* scratch,
                  const PackedPanel& panel);

/// c [rows, width] += rows times panels, each sum times its row's scale and its output's unit.
struct PackedProduct {
  const PackedRows& a;
  uint32_t rows = 0;
  uint32_t steps = 0;
  const uint32_t* panels[2];     ///< columns 0..15 and 16..31; the second is unused if width <= 16
  const float* units = nullptr;  ///< [32]
  float* c = nullptr;
  size_t c_stride = 0;
  uint32_t width = 0;  ///< 1..32
};

/// A number of c depends neither on the other rows nor on the other columns. Thread-safe.
void MultiplyPacked(ComputeType type, const PackedProduct& product);

}  // namespace sti
