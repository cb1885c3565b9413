// Pooler and classifier, on the rows that a head wants of the last layer (network/layer_program.h).
#pragma once

#include <cstdint>
#include <vector>

#include "base/thread_pool.h"
#include "model/layer_parameters.h"
#include "types/model_info.h"

namespace sti {

/// The head of a model of this shape and pooler, and its parameters; they outlive it.
struct ClassifierHead {
  const ModelShape& shape;
  PoolerActivation pooler;
  const HeadParameters& parameters;

  /// Returns the bytes that `pooled` grows to.
  static uint64_t RoomFor(uint32_t hidden, uint32_t rows, uint32_t threads) {
    return (uint64_t{rows} + threads) * hidden * sizeof(float);
  }

  /// Goes from `hidden` [rows, d] to `logits` [rows, labels]. `pooled` receives the pooler's output
  /// [rows, d], followed by a row of weights for each thread; it allocates nothing once it has
  /// grown.
  void Run(uint32_t rows, const float* hidden, ThreadPool& pool, std::vector<float>& pooled,
           float* logits) const {
    Pool(rows, hidden, pool, pooled);
    Classify(rows, pooled.data(), logits);
  }
  /// Does the first half of Run: `pooled` receives the input of the pooler's activation.
  void Pool(uint32_t rows, const float* hidden, ThreadPool& pool, std::vector<float>& pooled) const;
  /// Does the second half of Run: activates `pooled` [rows, d] in place, and classifies it.
  void Classify(uint32_t rows, float* pooled, float* logits) const;
};

}  // namespace sti
