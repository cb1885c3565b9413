// Attention of one head with products in bfloat16 and sums in fp32; softmax is fp32 throughout.
//
// Keys and values are rounded once a head, into panels as lowp/panels.h has them: pairs lie along
// the dimension that is summed, which is the head's for keys and the tokens for values. Queries,
// and then their weights, are the rows. Layers in int8 take it too: scores have no bound that 8
// bits could be laid over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/checked.h"
#include "kernels/lowp/panels.h"

namespace sti {

/// Returns whether the instruction set in force has what AttendPacked is fast with. Thread-safe.
bool CanPackAttention();

/// How attention may be laid out by a machine that computes with some kernel.
struct AttentionLayouts {
  bool plain = false;
  bool packed = false;
};

/// Returns the layouts that a kernel (KernelFor) of this type may have; more than one where its
/// name does not tell. It depends on its arguments alone. Thread-safe.
AttentionLayouts AttentionLayoutsOf(std::string_view kernel, ComputeType type);

/// Some queries of one head, and all keys and values of their sequence.
struct PackedHead {
  float* queries = nullptr;  ///< [rows, keys.ins]; the context replaces them
  size_t query_stride = 0;
  uint32_t rows = 0;
  RowsRef keys;    ///< [tokens, head_dim]
  RowsRef values;  ///< [tokens, head_dim]
  /// [tokens]: to what a token has received, the rounded weights that queries give it are added, in
  /// order of the queries. Null: they are not.
  float* received = nullptr;
};

/// Queries whose scores are held at once.
inline constexpr uint32_t kPackedQueries = 12;

/// Dwords of packed keys, and of packed values.
constexpr uint64_t PackedKeyDwords(uint32_t tokens, uint32_t head_dim) {
  return RoundUp(tokens, kPanelWidth) * PackedSteps(ComputeType::kBf16, head_dim);
}
constexpr uint64_t PackedValueDwords(uint32_t tokens, uint32_t head_dim) {
  return RoundUp(head_dim, kPanelWidth) * PackedSteps(ComputeType::kBf16, tokens);
}
/// Floats of scratch for AttendPacked: both of these, and queries and scores.
constexpr uint64_t PackedHeadFloats(uint32_t tokens, uint32_t head_dim) {
  return PackedKeyDwords(tokens, head_dim) + PackedValueDwords(tokens, head_dim) +
         kPackedQueries *
             (PackedStride(ComputeType::kBf16, head_dim) + RoundUp(tokens, kPanelWidth));
}

/// Sets queries = softmax(queries keys / sqrt(head_dim)) values. `scratch` has PackedHeadFloats,
/// aligned to 64 bytes. A query's result does not depend on the other queries. What depends on a
/// NaN is NaN. Thread-safe.
void AttendPacked(const PackedHead& head, float* scratch);

// AttendPacked is made of the three functions below. `out` is aligned to 64 bytes.

/// Writes keys [tokens, head_dim] as panels of 16 tokens, each [steps, 16]; zeros past the last
/// token.
void PackKeys(const RowsRef& keys, uint32_t* out);
/// Writes values [tokens, head_dim] as panels of 16 outputs, each [steps, 16]; zeros past the last
/// output.
void PackValues(const RowsRef& values, uint32_t* out);
/// Sets the first `count` > 0 numbers of a row to 2^x over the sum of all 2^x, rounded to halves of
/// PackedSteps(count) dwords; all NaN where SoftmaxRow is. The row is aligned to 64 bytes and has
/// room for `count` rounded up to a multiple of 16.
void SoftmaxPacked(float* row, uint32_t count);

}  // namespace sti
