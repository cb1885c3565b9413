// A layer decoded whole, and its program computed on it, forward and backward: for measuring, not
// for small devices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "model/batch.h"
#include "model/layer_parameters.h"
#include "network/layer_program.h"
#include "network/tensors.h"
#include "shard/view.h"
#include "types/model_info.h"

namespace sti {

/// One linear map of a whole layer, all slices together.
struct DenseMatrix {
  uint32_t ins = 0;
  uint32_t outs = 0;
  std::vector<float> weights;  ///< [ins, outs] as in y = x W, and kDenseSlack more
};

/// The matrices of a layer. Slice s has a share of the outputs of some and of the inputs of the
/// others (network/tensors.h).
using DenseLayer = ByRole<Home::kShard, DenseMatrix>;

/// Decodes all M slices of a layer into `layer`, whose memory it uses again. The same values for
/// any thread count.
void DecodeLayer(const ModelShape& shape, std::span<const ShardView> slices, ThreadPool& pool,
                 DenseLayer* layer);

/// Subtracts `other` from `layer`, weight by weight; both have one shape.
void Subtract(const DenseLayer& other, DenseLayer* layer);

/// The matrices and the other parameters of a layer.
struct DenseParameters {
  const DenseLayer& weights;
  const LayerParameters& others;
};

/// Refers to the values of a layer, [tokens, width] each, all slices together, and kDenseSlack
/// floats readable past the end.
using DenseValues = ByValue<float*>;

/// The gradients of a loss at the values of a layer. Values may have one place where one of them is
/// not needed any more when the other's is written.
struct DenseGradients {
  DenseValues at;
  ByValue<bool> begun;  ///< whether a gradient is there, which others are added to

  /// Begins the gradient at `to` with that at `from`, `count` numbers, and returns it. Whatever
  /// else adds to it comes later.
  float* CarryOver(LayerValue from, LayerValue to, size_t count);
};

/// Computes steps of layers on whole rows, each with its backward. Everything is fp32 and native;
/// a sequence's numbers have the same bits whatever the thread count and whatever shares its batch.
/// One thread at a time; the pool outlives it. Sizes are trusted.
class DenseExecutor {
 public:
  DenseExecutor(const ModelInfo& info, ThreadPool& pool);

  /// Returns the bytes of scratch for each token of a batch, but for attention's scores.
  [[nodiscard]] static uint64_t ScratchBytesPerToken(const ModelShape& shape);

  /// Takes the batch that later calls are about, whose offsets outlive them.
  void Begin(const Batch& batch) { batch_ = batch; }

  /// Computes the value that a step writes.
  void Forward(const LayerStep& step, const DenseParameters& parameters, const DenseValues& values);
  /// Goes from the gradient at the value that a step writes to those at the values that it reads.
  void Backward(const LayerStep& step, const DenseParameters& parameters, const DenseValues& values,
                DenseGradients* gradients);

  /// Computes `out` = `gradient` W, from a linear map's output to its input, or adds it to `out`.
  void ApplyBack(const float* gradient, const DenseMatrix& matrix, float* out, bool accumulate);

 private:
  void Compute(const LinearStep& step, const DenseParameters& parameters,
               const DenseValues& values);
  void Compute(const AttendStep& step, const DenseParameters& parameters,
               const DenseValues& values);
  void Compute(const ActivateStep& step, const DenseParameters& parameters,
               const DenseValues& values);
  void Compute(const AddStep& step, const DenseParameters& parameters, const DenseValues& values);
  void Compute(const NormStep& step, const DenseParameters& parameters, const DenseValues& values);
  void GoBack(const LinearStep& step, const DenseParameters& parameters, const DenseValues& values,
              DenseGradients* gradients);
  void GoBack(const AttendStep& step, const DenseParameters& parameters, const DenseValues& values,
              DenseGradients* gradients);
  void GoBack(const ActivateStep& step, const DenseParameters& parameters,
              const DenseValues& values, DenseGradients* gradients);
  void GoBack(const AddStep& step, const DenseParameters& parameters, const DenseValues& values,
              DenseGradients* gradients);
  void GoBack(const NormStep& step, const DenseParameters& parameters, const DenseValues& values,
              DenseGradients* gradients);
  [[nodiscard]] size_t Numbers(LayerValue value) const;

  ModelShape shape_;
  Activation activation_;
  float eps_;
  ByValue<uint64_t> widths_;
  ThreadPool& pool_;
  Batch batch_;
  std::vector<float> keys_turned_;  ///< [d, tokens]
  std::vector<float> scores_;       ///< scratch of attention
};

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
