// The backward pass of attention takes the gradient of the loss at the context to those at queries,
// keys and values.
#pragma once

#include <cstdint>
#include <span>

#include "base/thread_pool.h"

namespace sti {

/// Refers to the matrices of one backward pass, all [tokens, hidden] with heads side by side, and
/// kDenseSlack floats readable past the end.
struct AttentionTape {
  const float* queries = nullptr;  ///< [tokens, hidden]
  const float* keys = nullptr;
  const float* values = nullptr;
  const float* context_gradient = nullptr;  ///< gradient of the loss at the context
  float* query_gradient = nullptr;          ///< written: gradient at the queries
  float* key_gradient = nullptr;            ///< written: gradient at the keys
  float* value_gradient = nullptr;          ///< written: gradient at the values
  uint32_t hidden = 0;
  uint32_t heads = 0;
  std::span<const uint32_t> offsets;  ///< [sequences + 1] first token of each sequence
};

/// Writes the gradients at queries, keys and values of softmax(queries keys / sqrt(head_dim))
/// values. Computes the weights of attention again, so that nothing of length x length is kept.
/// Allocates memory for a head of the longest sequence on each thread. Gives the same bits for any
/// thread count.
void AttentionGradient(const AttentionTape& tape, ThreadPool& pool);

}  // namespace sti
