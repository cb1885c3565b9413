// Pooler and classifier, which look at each sequence's first token.
#pragma once

#include <cstdint>
#include <vector>

#include "base/thread_pool.h"
#include "model/layer_parameters.h"
#include "model/transformer.h"
#include "types/model_info.h"

namespace sti {

/// The head of a model of this shape and pooler, and its parameters; they outlive it.
struct ClassifierHead {
  const ModelShape& shape;
  PoolerActivation pooler;
  const HeadParameters& parameters;

  /// Returns the bytes that `pooled` grows to.
  static uint64_t RoomFor(uint32_t hidden, uint32_t sequences, uint32_t threads) {
    return (uint64_t{sequences} + threads) * hidden * sizeof(float);
  }

  /// Goes from `hidden` [tokens, d] to `logits` [sequences, labels]. `pooled` receives the pooler's
  /// output [sequences, d], followed by a row of weights for each thread; it allocates nothing once
  /// it has grown.
  void Run(const Batch& batch, const float* hidden, ThreadPool& pool, std::vector<float>& pooled,
           float* logits) const {
    Pool(batch, hidden, pool, pooled);
    Classify(batch.sequences(), pooled.data(), logits);
  }
  /// Does the first half of Run: `pooled` receives the input of the pooler's activation.
  void Pool(const Batch& batch, const float* hidden, ThreadPool& pool,
            std::vector<float>& pooled) const;
  /// Does the second half of Run: activates `pooled` [sequences, d] in place, and classifies it.
  void Classify(uint32_t sequences, float* pooled, float* logits) const;
};

}  // namespace sti
