// Attention of one head with products in bfloat16 and sums in fp32; softmax is fp32 throughout.
//
// Keys and values are rounded once a head, into panels of low-precision products: pairs lie along
// the dimension that is summed, which is the head's for keys and the tokens for values. Queries,
// and then their weights, are the rows. Layers in int8 take it too: scores have no bound that 8
// bits could be laid over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/gemm.h"
#include "types/kernel.h"

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

/// Returns the floats of scratch that AttendPacked takes: packed keys and values, and the queries
/// and scores that it holds at once. Thread-safe.
uint64_t PackedHeadFloats(uint32_t tokens, uint32_t head_dim);

/// Sets queries = softmax(queries keys / sqrt(head_dim)) values. `scratch` has PackedHeadFloats,
/// aligned to 64 bytes. A query's result does not depend on the other queries. What depends on a
/// NaN is NaN. Thread-safe.
void AttendPacked(const PackedHead& head, float* scratch);

}  // namespace sti
