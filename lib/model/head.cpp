#include "model/head.h"

#include <algorithm>

#include "kernels/elementwise.h"
#include "network/tensors.h"

namespace sti {
namespace {

constexpr uint32_t kOutputs = 16;  // of the pooler, a task

}  // namespace

void ClassifierHead::Pool(uint32_t rows, const float* hidden, ThreadPool& pool,
                          std::vector<float>& pooled) const {
  const uint32_t d = shape.hidden;
  pooled.resize(RoomFor(d, rows, pool.threads()) / sizeof(float));
  pool.ParallelFor((d + kOutputs - 1) / kOutputs, [&](uint32_t task, uint32_t worker) {
    const uint32_t end = std::min(d, (task + 1) * kOutputs);
    float* weights = pooled.data() + (uint64_t{rows} + worker) * d;
    for (uint32_t out = task * kOutputs; out < end; ++out) {
      parameters.pooler_weight.Row(out, d, weights);
      for (uint32_t row = 0; row < rows; ++row) {
        pooled[uint64_t{row} * d + out] =
            Dot(weights, hidden + uint64_t{row} * d, d) + parameters[TensorRole::kPoolerBias][out];
      }
    }
  });
}

void ClassifierHead::Classify(uint32_t rows, float* pooled, float* logits) const {
  const uint32_t d = shape.hidden;
  for (uint32_t r = 0; r < rows; ++r) {
    float* row = pooled + uint64_t{r} * d;
    switch (pooler) {
      case PoolerActivation::kTanh:
        TanhRow(row, d);
        break;
      case PoolerActivation::kRelu:
        for (uint32_t i = 0; i < d; ++i) row[i] = std::max(row[i], 0.0f);
        break;
      case PoolerActivation::kGelu:
        Activate(Activation::kGelu, row, d, 1, d);
        break;
    }
    for (uint32_t label = 0; label < shape.labels; ++label) {
      const float* weights = parameters[TensorRole::kClassifierWeight].data() + uint64_t{label} * d;
      logits[uint64_t{r} * shape.labels + label] =
          Dot(weights, row, d) + parameters[TensorRole::kClassifierBias][label];
    }
  }
}

}  // namespace sti
