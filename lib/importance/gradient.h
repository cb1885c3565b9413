// The backward pass, as far as measuring needs it, says how the loss of each example changes when
// the weights of a slice do. No gradient of a weight is ever made.
//
// With y = x W^T and g the gradient at y, weights W + D change the loss by <g, x D^T>, to first
// order. That takes one more product a matrix, and its rows belong to examples, so that each
// example keeps its own figure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "importance/dense_layer.h"
#include "model/layer_parameters.h"
#include "model/transformer.h"
#include "types/model_info.h"

namespace sti {

/// Runs one forward and one backward pass over one batch at a time. Everything is fp32 and native;
/// an example's values have the same bits whatever the thread count and whatever shares its batch.
/// One thread at a time; the pool outlives it. Sizes are trusted.
class GradientRun {
 public:
  GradientRun(const ModelInfo& info, ThreadPool& pool);

  /// Returns the bytes kept for each token of a batch.
  [[nodiscard]] static uint64_t BytesPerToken(const ModelShape& shape);

  /// Returns how many tokens a batch should have whose activations are kept within so many bytes.
  [[nodiscard]] static uint32_t BatchTokens(const ModelShape& shape, uint64_t bytes);

  /// Takes the batch that later calls are about, whose offsets outlive them.
  void Begin(const Batch& batch);

  /// Turns `hidden` [tokens, d] into the layer's output, in place, and keeps what Backward wants.
  /// All slices run. Layers in ascending order.
  void Forward(uint32_t layer, const DenseLayer& weights, const LayerParameters& parameters,
               float* hidden);

  /// Computes the head on the rows that it wants of `hidden` [tokens, d]: `values` [results,
  /// head_values] are logits or embeddings.
  void Head(const HeadParameters& parameters, const float* hidden, float* values);

  /// Begins a backward pass with the gradient at these values, after Head. It may begin again.
  void BeginBackward(const HeadParameters& parameters, std::span<const float> value_gradient);

  /// Goes from the gradient at a layer's output to that at its input. Layers in descending order.
  void Backward(uint32_t layer, const DenseLayer& weights, const LayerParameters& parameters);

  /// Computes how each example's loss changes, to first order, when the weights of each slice
  /// change by its share of `change`: `out` [sequences, M]. The layer is the last one that Backward
  /// took.
  void Derivatives(const DenseLayer& change, double* out);

  /// Computes how each example's loss changes, to first order, when a head or a neuron adds nothing
  /// to its layer's output, negated: `heads` [sequences, M], `neurons` [sequences, f]. The layer is
  /// the last one that Backward took, and `weights` are its own.
  void Contributions(const DenseLayer& weights, double* heads, double* neurons);

  /// Returns the gradient at the input of the last layer that Backward took, [tokens, d].
  [[nodiscard]] std::span<const float> gradient() const;

 private:
  /// Holds those values of a layer that the forward pass keeps, [tokens, width] each: its input,
  /// products and contexts. Norms and activations are computed again.
  using Tape = ByValue<std::vector<float>>;

  void ClassifierGradient(const HeadParameters& parameters, std::span<const float> at_logits);
  void PoolingGradient(std::span<const float> at_embeddings);
  void PoolingGradientOf(uint32_t sequence, std::span<float> at_pooled);
  [[nodiscard]] DenseValues ValuesOf(uint32_t layer, float* output);
  [[nodiscard]] DenseGradients GradientPlaces();
  void AddShares(const float* a, const float* b, uint32_t width, uint32_t shares, double* out);

  ModelInfo info_;
  ModelShape shape_;
  ByValue<uint64_t> widths_;
  ThreadPool& pool_;
  DenseExecutor executor_;
  Batch batch_;
  std::vector<Tape> tapes_;      ///< [layers]
  Tape again_;                   ///< values of the layer at hand that no tape has
  Tape gradients_;               ///< at the outputs of linear maps in the layer at hand
  std::vector<float> gradient_;  ///< [tokens, d] at hidden rows: those of the layer at hand
  std::vector<float> product_;   ///< [tokens, f]
  std::vector<float> wanted_;    ///< [rows, d] hidden rows that the head wants
  /// [rows, d] pooler's output, then ClassifierHead's scratch; of a model that embeds [sequences,
  /// d] what its rows are pooled to, before that is of unit length.
  std::vector<float> pooled_;
  std::vector<float> pooler_sum_;       ///< [rows, d] input of the pooler's activation
  std::optional<DenseValues> current_;  ///< of the layer that Backward took last
};

}  // namespace sti
