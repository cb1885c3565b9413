// Measurements by gradients (the estimate of importance, the order of heads and neurons) run layers
// forward and backward over batches whose activations are kept; GradientMeter does that for them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "importance/examples.h"
#include "importance/gradient.h"
#include "importance/layer_runner.h"
#include "importance/measure.h"

namespace sti {

/// Runs a model in fp32 on examples, layer by layer: before each it sees whether to stop, and
/// counts it afterwards. One thread at a time; the same values for any thread count.
class GradientMeter {
 public:
  /// Loads a model at `bits`, and puts the examples into batches whose activations take at most 64
  /// MiB, or options.cache_bytes if that is less. `options` outlive it. Errors: those of
  /// CheckRequest, and of reading the model.
  static Result<GradientMeter> Open(ContainerFile file, const Tokenizer& tokenizer,
                                    std::span<const Example> examples,
                                    const ImportanceOptions& options,
                                    std::span<const uint32_t> bits);

  [[nodiscard]] std::span<const ExampleBatch> batches() const { return batches_; }
  [[nodiscard]] LayerRunner& runner() { return *runner_; }
  [[nodiscard]] const ModelInfo& info() const { return runner_->index().info; }
  [[nodiscard]] const ModelShape& shape() const { return info().shape; }

  /// Says how many layers will be run in all, for progress.
  void Expect(uint64_t layers) { layers_ = layers; }

  /// Runs these layers at `bits`, and returns what the head gives: [results, head_values].
  Result<std::vector<float>> Run(const ExampleBatch& batch, std::span<const uint32_t> layers,
                                 uint32_t bits);

  /// Runs all layers at `bits`, keeps what Backward wants, and returns what the head gives:
  /// [results, head_values]. The batch outlives the backward pass.
  Result<std::vector<float>> Forward(const ExampleBatch& batch, uint32_t bits);

  /// Begins a backward pass with the gradient at these values [results, head_values]. There may
  /// be several after one Forward.
  void BeginBackward(std::span<const float> value_gradient);

  /// Goes back through a layer at the bits of Forward, and returns its weights, which are there
  /// until the next call. Layers in descending order.
  Result<const DenseLayer*> Backward(uint32_t layer);

  /// Returns the pass whose last layer is that of Backward.
  [[nodiscard]] GradientRun& pass() { return *pass_; }

  /// Makes the weights of a layer at `bits`, which were loaded.
  void Decode(uint32_t layer, uint32_t bits, DenseLayer* weights);

 private:
  GradientMeter(std::unique_ptr<LayerRunner> runner, std::vector<ExampleBatch> batches,
                const ImportanceOptions& options);

  Status Embed(const ExampleBatch& batch);
  [[nodiscard]] Status BeginLayer() const;
  void EndLayer();
  [[nodiscard]] const LayerParameters& Parameters(uint32_t layer) const {
    return runner_->resident().layers[layer];
  }

  const ImportanceOptions* options_;
  std::vector<ExampleBatch> batches_;
  std::unique_ptr<LayerRunner> runner_;
  std::unique_ptr<GradientRun> pass_;
  DenseLayer weights_;
  uint32_t bits_ = 0;          ///< of the pass
  std::vector<float> hidden_;  ///< [tokens, d]
  uint64_t done_ = 0;
  uint64_t layers_ = 0;
};

}  // namespace sti
