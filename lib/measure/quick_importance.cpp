#include "measure/quick_importance.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "measure/examples.h"
#include "measure/loss_gradient.h"
#include "measure/score.h"
#include "measure/tally.h"
#include "model/gradient.h"

namespace sti {
namespace {

constexpr uint64_t kKeptBytes = uint64_t{64} << 20;
constexpr uint64_t kMinBatchTokens = 64;  // decoding a layer is not to outweigh multiplying with it
constexpr uint64_t kMaxBatchTokens = 1024;  // more would gain nothing

uint32_t BatchTokens(const ModelShape& shape, uint64_t cache_bytes) {
  const uint64_t room = std::min(kKeptBytes, cache_bytes) / GradientPass::BytesPerToken(shape);
  return static_cast<uint32_t>(std::clamp(room, kMinBatchTokens, kMaxBatchTokens));
}

class QuickMeter {
 public:
  static Result<std::unique_ptr<QuickMeter>> Create(LoadedModel model,
                                                    const ImportanceOptions& options) {
    std::unique_ptr<QuickMeter> meter(new QuickMeter(std::move(model), options));
    STI_ASSIGN_OR_RETURN(meter->transformer_,
                         Transformer::Create(meter->info_, meter->pool_, {Backend::kNative}));
    return meter;
  }

  Result<Importance> Estimate(std::span<const ExampleBatch> batches) {
    steps_ = batches.size() * shape_.layers * 2;
    for (const ExampleBatch& batch : batches) STI_RETURN_IF_ERROR(AddBatch(batch));
    Importance importance = Collect();
    importance.data = DigestOf(batches);
    return importance;
  }

 private:
  QuickMeter(LoadedModel model, const ImportanceOptions& options)
      : model_(std::move(model)),
        options_(options),
        info_(model_.index().info),
        shape_(info_.shape),
        low_(model_.index().bits.front()),
        pool_(options.threads),
        pass_(info_, pool_) {
    const std::vector<uint32_t>& bits = model_.index().bits;
    raised_bits_.assign(options.gains ? bits.begin() + 1 : bits.end() - 1, bits.end());
    raised_.resize(size_t{shape_.layers} * shape_.width * raised_bits_.size());
  }

  Status AddBatch(const ExampleBatch& batch) {
    batch_ = &batch;
    sequences_ = batch.batch().sequences();
    hidden_.resize(batch.ids.size() * shape_.hidden);
    STI_RETURN_IF_ERROR(
        model_.Embed(*transformer_, batch.batch(), batch.ids, batch.types, hidden_.data()));
    if (options_.metric == Metric::kKl) RunReference();
    STI_RETURN_IF_ERROR(Forward());
    return Backward();
  }

  // The full model's logits.
  void RunReference() {
    std::vector<uint32_t> slices(shape_.width);
    std::iota(slices.begin(), slices.end(), 0U);
    std::vector<float> hidden = hidden_;
    for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
      const auto views = Views(layer, model_.index().bits.back());
      transformer_->RunLayer(batch_->batch(), views, slices, Parameters(layer), hidden.data());
    }
    reference_.resize(size_t{sequences_} * shape_.labels);
    transformer_->Head(batch_->batch(), hidden.data(), model_.resident().head, reference_.data());
  }

  Status Forward() {
    pass_.Begin(batch_->batch());
    for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
      STI_RETURN_IF_ERROR(BeginStep());
      Decode(layer, low_, &weights_);
      pass_.Forward(layer, weights_, Parameters(layer), hidden_.data());
      EndStep();
    }
    std::vector<float> logits(size_t{sequences_} * shape_.labels);
    std::vector<float> gradient(logits.size());
    pass_.Head(model_.resident().head, hidden_.data(), logits.data());
    losses_.clear();
    for (uint32_t s = 0; s < sequences_; ++s) {
      STI_RETURN_IF_ERROR(AddLoss(s, Row(logits, s), &gradient[size_t{s} * shape_.labels]));
    }
    pass_.BeginBackward(model_.resident().head, gradient);
    return {};
  }

  // Adds the loss of an example at the fewest bits, and finds its gradient at the logits.
  Status AddLoss(uint32_t s, std::span<const float> logits, float* gradient) {
    if (options_.metric == Metric::kKl) {
      const std::span<const float> reference = Row(reference_, s);
      losses_.push_back(Divergence(info_.problem, reference, logits));
      DivergenceGradient(info_.problem, reference, logits, gradient);
    } else {
      const std::vector<uint32_t>& truth = *batch_->truths[s];
      losses_.push_back(Judge(info_.problem, logits, truth).loss);
      LossGradient(info_.problem, logits, truth, gradient);
    }
    return AddTo(losses_.back(), losses_.back(), &base_);
  }

  // Adds a loss of an example whose loss at the fewest bits is `base`.
  [[nodiscard]] Status AddTo(double loss, double base, Tally* tally) {
    const auto units = LossUnits(loss);
    if (!units) {
      return DataError(model_.file().name() +
                       ": an example's loss or its slope is not a number, so its weights overflow; "
                       "shard a sound model");
    }
    AddOutcome(*tally, {false, *units}, {false, *LossUnits(base)});
    return {};
  }

  Status Backward() {
    std::vector<double> slopes(size_t{sequences_} * shape_.width);
    for (uint32_t layer = shape_.layers; layer-- > 0;) {
      STI_RETURN_IF_ERROR(BeginStep());
      Decode(layer, low_, &weights_);
      pass_.Backward(layer, weights_, Parameters(layer));
      for (size_t raised = 0; raised < raised_bits_.size(); ++raised) {
        Decode(layer, raised_bits_[raised], &change_);
        Subtract(weights_, &change_);
        pass_.Derivatives(change_, slopes.data());
        STI_RETURN_IF_ERROR(AddSlopes(layer, raised, slopes));
      }
      EndStep();
    }
    return {};
  }

  Status AddSlopes(uint32_t layer, size_t raised, std::span<const double> slopes) {
    for (size_t i = 0; i < slopes.size(); ++i) {
      const size_t shard = layer * size_t{shape_.width} + i % shape_.width;
      const double base = losses_[i / shape_.width];
      const double gain = -slopes[i] - Curvature() / 2 * slopes[i] * slopes[i];
      STI_RETURN_IF_ERROR(AddTo(base - gain, base, &raised_[shard * raised_bits_.size() + raised]));
    }
    return {};
  }

  // The loss of several labels is a mean, of which the log-likelihood is the sum.
  [[nodiscard]] double Curvature() const {
    const bool mean = info_.problem == Problem::kMultiLabel && options_.metric == Metric::kLoss;
    return mean ? shape_.labels : 1;
  }

  [[nodiscard]] Importance Collect() const {
    Importance importance;
    importance.model = model_.index().model;
    importance.metric = MetricName(options_.metric);
    importance.examples = base_.examples;
    importance.baseline = 0.0 - MeanLoss(base_);
    importance.layers = shape_.layers;
    importance.width = shape_.width;
    const size_t stride = raised_bits_.size();
    for (size_t at = stride - 1; at < raised_.size(); at += stride) {
      const double loss = MeanLoss(raised_[at]);
      importance.scores.push_back(0.0 - loss);
      if (options_.metric == Metric::kLoss) importance.losses.push_back(loss);
      importance.errors.push_back(LossChangeError(raised_[at], base_));
    }
    importance.standard_error = MeanLossError(base_);
    importance.kernel = transformer_->kernel();
    importance.estimate = kQuickEstimate;
    if (!options_.gains) return importance;
    importance.gain_bits = raised_bits_;
    importance.gains.reserve(raised_.size());
    for (const Tally& tally : raised_) {
      importance.gains.push_back(MeanLoss(base_) - MeanLoss(tally));
    }
    return importance;
  }

  [[nodiscard]] Status BeginStep() {
    if (options_.cancelled && options_.cancelled()) return UsageError("interrupted");
    return {};
  }
  void EndStep() {
    ++done_;
    if (options_.progress) options_.progress(done_, steps_);
  }

  void Decode(uint32_t layer, uint32_t bits, DenseLayer* weights) {
    DecodeLayer(shape_, Views(layer, bits), pool_, weights);
  }
  [[nodiscard]] std::vector<ShardView> Views(uint32_t layer, uint32_t bits) const {
    std::vector<ShardView> views;
    views.reserve(shape_.width);
    for (uint32_t s = 0; s < shape_.width; ++s) views.push_back(model_.View(layer, s, bits));
    return views;
  }
  [[nodiscard]] const LayerParameters& Parameters(uint32_t layer) const {
    return model_.resident().layers[layer];
  }
  [[nodiscard]] std::span<const float> Row(const std::vector<float>& logits, uint32_t s) const {
    return {&logits[size_t{s} * shape_.labels], shape_.labels};
  }

  LoadedModel model_;
  const ImportanceOptions& options_;
  ModelInfo info_;
  ModelShape shape_;
  uint32_t low_;
  ThreadPool pool_;
  GradientPass pass_;
  std::unique_ptr<Transformer> transformer_;
  std::vector<uint32_t> raised_bits_;  // ascending; the last is the most
  DenseLayer weights_;
  DenseLayer change_;
  const ExampleBatch* batch_ = nullptr;
  uint32_t sequences_ = 0;
  std::vector<float> hidden_;
  std::vector<float> reference_;  // [sequences, labels], for kl
  std::vector<double> losses_;    // [sequences] at the fewest bits
  Tally base_;
  std::vector<Tally> raised_;  // [layers, width, raised_bits_]
  uint64_t done_ = 0;
  uint64_t steps_ = 0;
};

Status CheckRequest(const ContainerFile& file, std::span<const Example> examples,
                    const ImportanceOptions& options) {
  if (options.metric == Metric::kAccuracy || options.submodels) {
    return UsageError("gradients estimate losses of shards; take the metric loss or kl");
  }
  if (file.index().bits.size() < 2) {
    return DataError(file.name() +
                     ": has one bitwidth only, so no shard can be raised; "
                     "run sti-shard with more --bits");
  }
  if (examples.empty()) return DataError("no examples to measure on");
  const bool labelled = std::all_of(examples.begin(), examples.end(), [](const Example& example) {
    return example.Truth().has_value();
  });
  if (!labelled && options.metric != Metric::kKl) {
    return DataError("some examples have no label; add them, or measure with kl");
  }
  return {};
}

}  // namespace

Result<Importance> EstimateImportance(ContainerFile file, const Tokenizer& tokenizer,
                                      std::span<const Example> examples,
                                      const ImportanceOptions& options) {
  STI_RETURN_IF_ERROR(CheckRequest(file, examples, options));
  const ContainerIndex& index = file.index();
  auto batches = BatchExamples(tokenizer, examples, index.info.max_length(),
                               BatchTokens(index.info.shape, options.cache_bytes));
  if (options.metric == Metric::kKl) DropTruths(batches);
  const std::vector<uint32_t> bits =
      options.gains ? index.bits : std::vector<uint32_t>{index.bits.front(), index.bits.back()};
  STI_ASSIGN_OR_RETURN(LoadedModel model, LoadedModel::Load(std::move(file), bits));
  STI_ASSIGN_OR_RETURN(std::unique_ptr<QuickMeter> meter,
                       QuickMeter::Create(std::move(model), options));
  return meter->Estimate(batches);
}

}  // namespace sti
