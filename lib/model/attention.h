// Attention of the slices that run, each one head, over sequences without padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/thread_pool.h"

namespace sti {

/// Queries that one task takes: their scores stay in cache.
inline constexpr uint32_t kQueryBlock = 48;

/// Queries, keys and values of `heads` heads of `head_dim`.
struct AttentionInput {
  float* queries = nullptr;  ///< [tokens, heads * head_dim]; the context replaces them
  size_t query_stride = 0;
  /// [heads * head_dim, tokens], 16 floats readable past each row; packed: [tokens, heads *
  /// head_dim]
  const float* keys = nullptr;
  size_t key_stride = 0;
  const float* values = nullptr;  ///< [tokens, heads * head_dim], 16 floats readable past the end
  size_t value_stride = 0;
  uint32_t heads = 0;
  uint32_t head_dim = 0;
  std::span<const uint32_t> offsets;  ///< [sequences + 1] first token of each
  /// Queries are of one token of each sequence only: [sequences, heads * head_dim]. Causal, it is
  /// the last.
  bool one_row = false;
  /// A query attends to the keys up to its own token's. Not packed.
  bool causal = false;
  /// Tokens of the one sequence that have keys and values, and no queries: the first row is of the
  /// token behind them. Causal only.
  uint32_t past = 0;
  /// Products in bfloat16, as kernels/lowp_attention.h has them.
  bool packed = false;
  /// [heads, tokens], `heads` rows that are `tokens` apart: what each token, as a key, receives of
  /// the queries of its sequence is written here, the sum of its weights. Null: it is not summed.
  float* received = nullptr;
};

/// Floats of scratch a worker needs for sequences of up to `length` tokens.
uint64_t AttentionScratch(uint32_t length);
uint64_t PackedAttentionScratch(uint32_t length, uint32_t head_dim);

/// Computes softmax(queries keys / sqrt(head_dim)) values in place of the queries, sequence by
/// sequence. `scratch` has room for AttentionScratch floats for each of the pool's threads,
/// `scratch_stride` apart; packed, for PackedAttentionScratch floats, each aligned to 64 bytes. The
/// same bits for any number of threads, and whatever else is in `offsets`; where `received` is
/// wanted, a head of a sequence is the work of one thread.
void Attend(const AttentionInput& input, ThreadPool& pool, float* scratch, uint64_t scratch_stride);

}  // namespace sti
