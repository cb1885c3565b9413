#include "measure/importance.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "measure/examples.h"
#include "measure/score.h"

namespace sti {
namespace {

// Tokens a batch: enough that decoding a shard is small beside multiplying with it, few enough that
// the kept activations of all layers stay in tens of megabytes.
constexpr uint32_t kBatchTokens = 1024;

class ImportanceMeter {
 public:
  ImportanceMeter(LoadedModel model, const ImportanceOptions& options)
      : model_(std::move(model)),
        options_(options),
        shape_(model_.index().info.shape),
        problem_(model_.index().info.problem),
        low_(model_.index().bits.front()),
        high_(model_.index().bits.back()),
        pool_(options.threads),
        slices_(shape_.width),
        scores_(size_t{shape_.layers} * shape_.width),
        losses_(scores_.size()) {
    std::iota(slices_.begin(), slices_.end(), 0U);
  }

  Result<Importance> Measure(std::span<const ExampleBatch> batches) {
    STI_ASSIGN_OR_RETURN(transformer_,
                         Transformer::Create(model_.index().info, pool_, Backend::kNative));
    total_ = batches.size() * scores_.size();
    for (const ExampleBatch& batch : batches) STI_RETURN_IF_ERROR(MeasureBatch(batch));
    return Collect();
  }

 private:
  // The base runs once and leaves the input of every layer behind; each shard's run starts from the
  // input of its own layer.
  Status MeasureBatch(const ExampleBatch& batch) {
    size_t values = batch.ids.size() * shape_.hidden;
    inputs_.resize(shape_.layers + 1);
    for (auto& input : inputs_) input.resize(values);
    hidden_.resize(values);
    STI_RETURN_IF_ERROR(
        model_.Embed(*transformer_, batch.batch(), batch.ids, batch.types, inputs_[0].data()));
    RunReference(batch);
    for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
      inputs_[layer + 1] = inputs_[layer];
      RunLayer(batch, layer, Views(layer, low_), inputs_[layer + 1].data());
    }
    Score(batch, inputs_.back().data(), baseline_, baseline_loss_);
    for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
      for (uint32_t slice = 0; slice < shape_.width; ++slice) {
        if (options_.cancelled && options_.cancelled()) return UsageError("interrupted");
        MeasureShard(batch, layer, slice);
      }
    }
    return {};
  }

  void MeasureShard(const ExampleBatch& batch, uint32_t layer, uint32_t slice) {
    std::copy(inputs_[layer].begin(), inputs_[layer].end(), hidden_.begin());
    std::vector<ShardView> views = Views(layer, low_);
    views[slice] = model_.View(layer, slice, high_);
    RunLayer(batch, layer, views, hidden_.data());
    for (uint32_t above = layer + 1; above < shape_.layers; ++above) {
      RunLayer(batch, above, Views(above, low_), hidden_.data());
    }
    size_t shard = size_t{layer} * shape_.width + slice;
    Score(batch, hidden_.data(), scores_[shard], losses_[shard]);
    if (options_.progress) options_.progress(++done_, total_);
  }

  // Full fidelity, which kl is measured against.
  void RunReference(const ExampleBatch& batch) {
    if (options_.metric != Metric::kKl) return;
    std::copy(inputs_[0].begin(), inputs_[0].end(), hidden_.begin());
    for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
      RunLayer(batch, layer, Views(layer, high_), hidden_.data());
    }
    reference_.resize(size_t{batch.batch().sequences()} * shape_.labels);
    transformer_->Head(batch.batch(), hidden_.data(), model_.resident().head, reference_.data());
  }

  [[nodiscard]] std::vector<ShardView> Views(uint32_t layer, uint32_t bits) const {
    std::vector<ShardView> views;
    for (uint32_t slice : slices_) views.push_back(model_.View(layer, slice, bits));
    return views;
  }

  void RunLayer(const ExampleBatch& batch, uint32_t layer, std::span<const ShardView> views,
                float* hidden) {
    transformer_->RunLayer(batch.batch(), views, slices_, model_.resident().layers[layer], hidden);
  }

  void Score(const ExampleBatch& batch, const float* hidden, RunningMean& score,
             RunningMean& loss) {
    uint32_t sequences = batch.batch().sequences();
    logits_.resize(size_t{sequences} * shape_.labels);
    transformer_->Head(batch.batch(), hidden, model_.resident().head, logits_.data());
    for (uint32_t s = 0; s < sequences; ++s) {
      std::span<const float> row(&logits_[size_t{s} * shape_.labels], shape_.labels);
      if (options_.metric == Metric::kKl) {
        std::span<const float> full(&reference_[size_t{s} * shape_.labels], shape_.labels);
        score.Add(-Divergence(problem_, full, row));
        continue;
      }
      const Judgement judged = Judge(problem_, row, *batch.truths[s]);
      loss.Add(judged.loss);
      const bool by_loss = options_.metric == Metric::kLoss;
      score.Add(by_loss ? -judged.loss : (judged.right ? 1.0 : 0.0));
    }
  }

  [[nodiscard]] Importance Collect() const {
    Importance importance;
    importance.model = model_.index().model;
    importance.metric = MetricName(options_.metric);
    importance.examples = baseline_.count();
    importance.baseline = baseline_.mean();
    importance.layers = shape_.layers;
    importance.width = shape_.width;
    for (const RunningMean& score : scores_) importance.scores.push_back(score.mean());
    if (options_.metric != Metric::kKl) {
      for (const RunningMean& loss : losses_) importance.losses.push_back(loss.mean());
    }
    importance.standard_error = baseline_.standard_error();
    importance.kernel = transformer_->kernel();
    return importance;
  }

  LoadedModel model_;
  const ImportanceOptions& options_;
  ModelShape shape_;
  Problem problem_;
  uint32_t low_;
  uint32_t high_;
  ThreadPool pool_;
  std::unique_ptr<Transformer> transformer_;
  std::vector<uint32_t> slices_;
  std::vector<std::vector<float>> inputs_;  // [layers + 1][tokens * hidden] of the base
  std::vector<float> hidden_;
  std::vector<float> logits_;
  std::vector<float> reference_;
  RunningMean baseline_;
  RunningMean baseline_loss_;
  std::vector<RunningMean> scores_;
  std::vector<RunningMean> losses_;
  uint64_t done_ = 0;
  uint64_t total_ = 0;
};

}  // namespace

const char* MetricName(Metric metric) {
  if (metric == Metric::kAccuracy) return "accuracy";
  return metric == Metric::kLoss ? "loss" : "kl";
}

Result<Importance> MeasureImportance(ContainerFile file, const Tokenizer& tokenizer,
                                     std::span<const Example> examples,
                                     const ImportanceOptions& options) {
  const ContainerIndex& index = file.index();
  if (index.bits.size() < 2) {
    return DataError(file.name() +
                     ": has one bitwidth only, so no shard can be raised; "
                     "run sti-shard with more --bits");
  }
  if (examples.empty()) return DataError("no examples to measure on");
  bool labelled = std::all_of(examples.begin(), examples.end(),
                              [](const Example& example) { return example.Truth().has_value(); });
  if (!labelled && options.metric != Metric::kKl) {
    return DataError("some examples have no label; add them, or measure with kl");
  }
  auto batches = BatchExamples(tokenizer, examples, index.info.max_length(), kBatchTokens);
  const uint32_t bits[2] = {index.bits.front(), index.bits.back()};
  STI_ASSIGN_OR_RETURN(LoadedModel model, LoadedModel::Load(std::move(file), bits));
  return ImportanceMeter(std::move(model), options).Measure(batches);
}

}  // namespace sti
