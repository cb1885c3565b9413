// What the measurements of importance share: layers at chosen bits over one batch of examples, and
// how its labels fare.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "measure/examples.h"
#include "measure/metric.h"
#include "measure/score.h"
#include "model/loaded_model.h"

namespace sti {

/// How examples fared. For kl, right is the full model's label (or set of labels), and loss the
/// divergence from its logits.
struct Outcomes {
  RunningMean right;
  RunningMean loss;
};

/// Counts evaluations done, of a shard or a submodel on a batch, for a bar and for Ctrl-C.
class Evaluations {
 public:
  Evaluations(ProgressSink progress, CancelCheck cancelled)
      : progress_(std::move(progress)), cancelled_(std::move(cancelled)) {}
  void SetTotal(uint64_t total) { total_ = total; }
  /// Before each: fails if it should not be begun.
  [[nodiscard]] Status Begin() const {
    if (cancelled_ && cancelled_()) return UsageError("interrupted");
    return {};
  }
  void End() {
    ++done_;
    if (progress_) progress_(done_, total_);
  }

 private:
  ProgressSink progress_;
  CancelCheck cancelled_;
  uint64_t done_ = 0;
  uint64_t total_ = 0;
};

/// Computes with one batch at a time. One thread at a time; the same values for any thread count.
class BatchRunner {
 public:
  static Result<std::unique_ptr<BatchRunner>> Create(LoadedModel model, Metric metric,
                                                     uint32_t threads);

  [[nodiscard]] const ContainerIndex& index() const { return model_.index(); }
  [[nodiscard]] std::string kernel() const { return transformer_->kernel(); }

  /// Takes the batch that later calls are about, which outlives them: its embeddings, and for kl
  /// the full model's logits at the most bits.
  [[nodiscard]] Status Begin(const ExampleBatch& batch);
  /// [tokens, hidden] of the batch.
  [[nodiscard]] const std::vector<float>& embedded() const { return embedded_; }

  /// The first `width` slices of a layer at `bits`, which were loaded.
  [[nodiscard]] std::vector<ShardView> Views(uint32_t layer, uint32_t width, uint32_t bits) const;
  [[nodiscard]] const ShardView& View(uint32_t layer, uint32_t slice, uint32_t bits) const {
    return model_.View(layer, slice, bits);
  }
  /// Turns `hidden` [tokens, hidden] into the output of a layer of the first slices, in place.
  void RunLayer(uint32_t layer, std::span<const ShardView> views, float* hidden);
  /// Adds each example, in order, as the head judges the last layer's `hidden`.
  void Score(const float* hidden, Outcomes* outcomes);

 private:
  BatchRunner(LoadedModel model, Metric metric, uint32_t threads);
  void RunReference();
  void Head(const float* hidden, std::vector<float>* logits);
  [[nodiscard]] std::span<const float> Row(const std::vector<float>& logits, uint32_t s) const;

  LoadedModel model_;
  Metric metric_;
  ModelShape shape_;
  Problem problem_;
  ThreadPool pool_;
  std::unique_ptr<Transformer> transformer_;
  std::vector<uint32_t> slices_;
  const ExampleBatch* batch_ = nullptr;
  std::vector<float> embedded_;
  std::vector<float> hidden_;
  std::vector<float> logits_;
  std::vector<float> reference_;                         // [sequences, labels], for kl
  std::vector<std::vector<uint32_t>> reference_labels_;  // [sequences], for kl
};

}  // namespace sti
