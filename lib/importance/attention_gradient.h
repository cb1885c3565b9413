// The backward pass of attention.
#pragma once

#include <cstdint>
#include <span>

#include "base/thread_pool.h"

namespace sti {

/// Heads side by side: rows are tokens, `hidden` numbers each, with kDenseSlack floats readable
/// past the end. Gradients have the same layout.
struct AttentionTape {
  const float* queries = nullptr;  ///< [tokens, hidden]
  const float* keys = nullptr;
  const float* values = nullptr;
  const float* context_gradient = nullptr;  ///< of the loss, at the context
  float* query_gradient = nullptr;          ///< written, as are the next two
  float* key_gradient = nullptr;
  float* value_gradient = nullptr;
  uint32_t hidden = 0;
  uint32_t heads = 0;
  std::span<const uint32_t> offsets;  ///< [sequences + 1] first token of each
};

/// Gradients at queries, keys and values of softmax(queries keys / sqrt(head_dim)) values. Computes
/// the weights of attention again, so that nothing of length x length is kept. Allocates memory for
/// a head of the longest sequence on each thread. The same bits for any thread count.
void AttentionGradient(const AttentionTape& tape, ThreadPool& pool);

}  // namespace sti
