#include "model/head.h"

#include <algorithm>

#include "kernels/elementwise.h"
#include "network/tensors.h"

namespace sti {
namespace {

constexpr uint32_t kOutputs = 16;  // of the pooler, a task

}  // namespace

void ClassifierHead::Run(const Batch& batch, const float* hidden, ThreadPool& pool,
                         std::vector<float>& pooled, float* logits) const {
  const uint32_t d = shape.hidden;
  const uint32_t sequences = batch.sequences();
  pooled.resize(RoomFor(d, sequences, pool.threads()) / sizeof(float));
  pool.ParallelFor((d + kOutputs - 1) / kOutputs, [&](uint32_t task, uint32_t worker) {
    const uint32_t end = std::min(d, (task + 1) * kOutputs);
    float* weights = pooled.data() + (uint64_t{sequences} + worker) * d;
    for (uint32_t out = task * kOutputs; out < end; ++out) {
      parameters.pooler_weight.Row(out, d, weights);
      for (uint32_t s = 0; s < sequences; ++s) {
        const float* first = hidden + uint64_t{batch.offsets[s]} * d;
        pooled[uint64_t{s} * d + out] =
            Dot(weights, first, d) + parameters[TensorRole::kPoolerBias][out];
      }
    }
  });
  for (uint32_t s = 0; s < sequences; ++s) {
    float* row = pooled.data() + uint64_t{s} * d;
    if (pooler == PoolerActivation::kTanh) {
      TanhRow(row, d);
    } else {
      for (uint32_t i = 0; i < d; ++i) row[i] = std::max(row[i], 0.0f);
    }
    for (uint32_t label = 0; label < shape.labels; ++label) {
      const float* weights = parameters[TensorRole::kClassifierWeight].data() + uint64_t{label} * d;
      logits[uint64_t{s} * shape.labels + label] =
          Dot(weights, row, d) + parameters[TensorRole::kClassifierBias][label];
    }
  }
}

}  // namespace sti
