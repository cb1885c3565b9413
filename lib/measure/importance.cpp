#include "measure/importance.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "measure/batch_runner.h"
#include "measure/examples.h"
#include "measure/submodel_scores.h"

namespace sti {
namespace {

// Tokens a batch: enough that decoding a shard is small beside multiplying with it, few enough that
// the kept activations of all layers stay in tens of megabytes.
constexpr uint32_t kBatchTokens = 1024;

class ImportanceMeter {
 public:
  ImportanceMeter(BatchRunner& runner, const ImportanceOptions& options)
      : runner_(runner),
        metric_(options.metric),
        gains_(options.gains),
        shape_(runner.index().info.shape),
        low_(runner.index().bits.front()),
        evaluations_(options.progress, options.cancelled) {
    const std::vector<uint32_t>& bits = runner.index().bits;
    raised_bits_.assign(gains_ ? bits.begin() + 1 : bits.end() - 1, bits.end());
    raised_.resize(size_t{shape_.layers} * shape_.width * raised_bits_.size());
    if (options.submodels) submodels_.emplace(runner.index());
  }

  Result<Importance> Measure(std::span<const ExampleBatch> batches) {
    const uint64_t evaluations = raised_.size() + (submodels_ ? submodels_->evaluations() : 0);
    evaluations_.SetTotal(batches.size() * evaluations);
    for (const ExampleBatch& batch : batches) {
      STI_RETURN_IF_ERROR(runner_.Begin(batch));
      STI_RETURN_IF_ERROR(MeasureShards());
      if (submodels_) STI_RETURN_IF_ERROR(submodels_->MeasureBatch(runner_, evaluations_));
    }
    return Collect();
  }

 private:
  // The base runs once and leaves the input of every layer behind; each shard's run starts from the
  // input of its own layer.
  Status MeasureShards() {
    inputs_.resize(shape_.layers + 1);
    inputs_[0] = runner_.embedded();
    for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
      inputs_[layer + 1] = inputs_[layer];
      runner_.RunLayer(layer, Views(layer), inputs_[layer + 1].data());
    }
    runner_.Score(inputs_.back().data(), &baseline_);
    Outcomes* outcomes = raised_.data();
    for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
      for (uint32_t slice = 0; slice < shape_.width; ++slice) {
        for (const uint32_t bits : raised_bits_) {
          STI_RETURN_IF_ERROR(evaluations_.Begin());
          MeasureShard(layer, slice, bits, outcomes++);
          evaluations_.End();
        }
      }
    }
    return {};
  }

  void MeasureShard(uint32_t layer, uint32_t slice, uint32_t bits, Outcomes* outcomes) {
    hidden_ = inputs_[layer];
    std::vector<ShardView> views = Views(layer);
    views[slice] = runner_.View(layer, slice, bits);
    runner_.RunLayer(layer, views, hidden_.data());
    for (uint32_t above = layer + 1; above < shape_.layers; ++above) {
      runner_.RunLayer(above, Views(above), hidden_.data());
    }
    runner_.Score(hidden_.data(), outcomes);
  }

  [[nodiscard]] std::vector<ShardView> Views(uint32_t layer) const {
    return runner_.Views(layer, shape_.width, low_);
  }

  // Not the mean negated, so that no loss at all is 0 and not -0.
  [[nodiscard]] double ScoreOf(const Outcomes& outcomes) const {
    return metric_ == Metric::kAccuracy ? outcomes.right.mean() : 0.0 - outcomes.loss.mean();
  }

  [[nodiscard]] Importance Collect() const {
    Importance importance;
    importance.model = runner_.index().model;
    importance.metric = MetricName(metric_);
    importance.examples = baseline_.loss.count();
    importance.baseline = ScoreOf(baseline_);
    importance.layers = shape_.layers;
    importance.width = shape_.width;
    // Scores are of the most bits, which come last.
    const size_t stride = raised_bits_.size();
    for (size_t at = stride - 1; at < raised_.size(); at += stride) {
      importance.scores.push_back(ScoreOf(raised_[at]));
      if (metric_ != Metric::kKl) importance.losses.push_back(raised_[at].loss.mean());
    }
    const bool accuracy = metric_ == Metric::kAccuracy;
    importance.standard_error = (accuracy ? baseline_.right : baseline_.loss).standard_error();
    importance.kernel = runner_.kernel();
    if (submodels_) importance.submodels = submodels_->Scores();
    if (gains_) CollectGains(&importance);
    return importance;
  }

  void CollectGains(Importance* importance) const {
    importance->gain_bits = raised_bits_;
    importance->gains.reserve(raised_.size());
    for (const Outcomes& raised : raised_) {
      importance->gains.push_back(baseline_.loss.mean() - raised.loss.mean());
    }
  }

  BatchRunner& runner_;
  Metric metric_;
  bool gains_;
  ModelShape shape_;
  uint32_t low_;
  Evaluations evaluations_;
  std::vector<uint32_t> raised_bits_;       // ascending; the last is the most
  std::optional<SubmodelMeter> submodels_;  // if they are asked for
  std::vector<std::vector<float>> inputs_;  // [layers + 1][tokens * hidden] of the base
  std::vector<float> hidden_;
  Outcomes baseline_;
  std::vector<Outcomes> raised_;  // [layers, width, raised_bits_]
};

}  // namespace

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
  const bool all = options.submodels || options.gains;
  const std::vector<uint32_t> bits =
      all ? index.bits : std::vector<uint32_t>{index.bits.front(), index.bits.back()};
  STI_ASSIGN_OR_RETURN(LoadedModel model, LoadedModel::Load(std::move(file), bits));
  STI_ASSIGN_OR_RETURN(std::unique_ptr<BatchRunner> runner,
                       BatchRunner::Create(std::move(model), options.metric, options.threads));
  return ImportanceMeter(*runner, options).Measure(batches);
}

}  // namespace sti
