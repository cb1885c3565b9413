// The backward pass, as far as measuring needs it, says how the loss of each example changes when
// the weights of a slice do. No gradient of a weight is ever made.
//
// With y = x W^T and g the gradient at y, weights W + D change the loss by <g, x D^T>, to first
// order. That takes one more product a matrix, and its rows belong to examples, so that each
// example keeps its own figure.
#pragma once

#include <cstdint>
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

  /// Computes pooler and classifier on each sequence's first token: `logits` [sequences, labels].
  void Head(const HeadParameters& parameters, const float* hidden, float* logits);

  /// Begins the backward pass with the gradient at the logits [sequences, labels], after Head.
  void BeginBackward(const HeadParameters& parameters, std::span<const float> logit_gradient);

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
  /// Holds the numbers that the forward pass keeps of a layer, [tokens, d] each unless said
  /// otherwise.
  struct Tape {
    std::vector<float> input;
    std::vector<float> queries;
    std::vector<float> keys;
    std::vector<float> values;
    std::vector<float> context;
    std::vector<float> attention_sum;  ///< what the first norm takes
    std::vector<float> inner;          ///< [tokens, f] what the activation takes
    std::vector<float> output_sum;     ///< what the second norm takes

    /// Visits each of them with how many of its numbers a token has.
    template <typename F>
    void Visit(const ModelShape& shape, const F& visit) {
      for (auto* part : {&input, &queries, &keys, &values, &context, &attention_sum, &output_sum}) {
        visit(*part, shape.hidden);
      }
      visit(inner, shape.ffn);
    }
  };
  /// Holds the gradients at the outputs of a layer's linear maps, [tokens, d] each unless said
  /// otherwise.
  struct Gradients {
    std::vector<float> queries;
    std::vector<float> keys;
    std::vector<float> values;
    std::vector<float> output;  ///< at the output of O
    std::vector<float> inner;   ///< [tokens, f] at the output of FFN1
    std::vector<float> ffn;     ///< at the output of FFN2

    /// Visits each of them with how many of its numbers a token has.
    template <typename F>
    void Visit(const ModelShape& shape, const F& visit) {
      for (auto* part : {&queries, &keys, &values, &output, &ffn}) visit(*part, shape.hidden);
      visit(inner, shape.ffn);
    }
  };

  void Apply(const float* in, const DenseMatrix& matrix, const std::vector<float>& bias,
             float* out);
  void ApplyBack(const float* gradient, const DenseMatrix& matrix, float* out, bool accumulate);
  void Attention(Tape& tape);
  void Norm(const std::vector<float>& in, const std::vector<float>& weight,
            const std::vector<float>& bias, float* out);
  void NormBack(const std::vector<float>& in, const std::vector<float>& weight, float* gradient);
  void FfnBack(const Tape& tape, const DenseLayer& weights, const LayerParameters& parameters);
  void AttentionBack(const Tape& tape, const DenseLayer& weights);
  void AddShares(const float* a, const float* b, uint32_t width, uint32_t shares, double* out);
  template <typename F>
  void ForRows(const F& f);

  ModelInfo info_;
  ModelShape shape_;
  float eps_;
  ThreadPool& pool_;
  Batch batch_;
  std::vector<Tape> tapes_;
  Gradients gradients_;
  std::vector<float> pooled_;  ///< [sequences, d] pooler's output, then ClassifierHead's scratch
  std::vector<float> pooler_sum_;   ///< [sequences, d] input of the pooler's activation
  std::vector<float> gradient_;     ///< [tokens, d] at the input of the layer above
  std::vector<float> attended_;     ///< [tokens, d] output of the first norm in the layer at hand
  std::vector<float> active_;       ///< [tokens, f] output of the activation in the layer at hand
  std::vector<float> product_;      ///< [tokens, f]
  std::vector<float> keys_turned_;  ///< [d, tokens]
  std::vector<float> scores_;       ///< scratch of attention
  const Tape* current_ = nullptr;   ///< tape of the layer that Backward took last
};

}  // namespace sti
