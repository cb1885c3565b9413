#include "importance/quick_importance.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "importance/examples.h"
#include "importance/gradient.h"
#include "importance/importance_job.h"
#include "importance/importance_join.h"
#include "importance/layer_runner.h"
#include "importance/loss_gradient.h"
#include "importance/tally.h"
#include "types/finite.h"
#include "types/score.h"

namespace sti {
namespace {

class QuickMeter {
 public:
  QuickMeter(LayerRunner& runner, const ImportanceOptions& options)
      : runner_(runner),
        options_(options),
        info_(runner.index().info),
        shape_(info_.shape),
        low_(runner.index().bits.front()),
        pass_(info_, runner.pool()) {}

  Result<Importance> Estimate(std::span<const ExampleBatch> batches) {
    part_.job = JobOf(runner_.index(), batches, options_, runner_.kernel().name);
    part_.tallies.resize(CellsOf(part_.job));
    steps_ = batches.size() * shape_.layers * 2;
    for (const ExampleBatch& batch : batches) STI_RETURN_IF_ERROR(AddBatch(batch));
    part_.end = part_.due = part_.job.units;
    STI_ASSIGN_OR_RETURN(Importance importance,
                         JoinImportanceParts({{"the estimate", std::move(part_)}}));
    importance.estimate = kQuickEstimate;
    return importance;
  }

 private:
  Status AddBatch(const ExampleBatch& batch) {
    batch_ = &batch;
    sequences_ = batch.batch().sequences();
    hidden_.resize(batch.ids.size() * shape_.hidden);
    STI_RETURN_IF_ERROR(runner_.Embed(batch, {0, sequences_}, hidden_.data()));
    if (options_.metric == Metric::kKl) RunReference();
    STI_RETURN_IF_ERROR(Forward());
    return Backward();
  }

  // The full model's logits.
  void RunReference() {
    const uint32_t most = runner_.index().bits.back();
    std::vector<float> hidden = hidden_;
    for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
      runner_.Layer(batch_->batch(), layer, Views(layer, most), hidden.data());
    }
    std::vector<float> firsts(size_t{sequences_} * shape_.hidden);
    CopyFirsts(batch_->batch(), shape_.hidden, hidden.data(), firsts.data());
    reference_.resize(size_t{sequences_} * shape_.labels);
    runner_.Head(sequences_, firsts.data(), reference_.data());
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
    pass_.Head(runner_.resident().head, hidden_.data(), logits.data());
    losses_.clear();
    for (uint32_t s = 0; s < sequences_; ++s) {
      STI_RETURN_IF_ERROR(AddLoss(s, Row(logits, s), &gradient[size_t{s} * shape_.labels]));
    }
    pass_.BeginBackward(runner_.resident().head, gradient);
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
    if (!AllFinite(logits)) losses_.back() = std::numeric_limits<double>::quiet_NaN();
    return AddTo(losses_.back(), losses_.back(), part_.tallies.data());
  }

  // Adds a loss of an example whose loss at the fewest bits is `base`.
  [[nodiscard]] Status AddTo(double loss, double base, Tally* tally) {
    const auto units = LossUnits(loss);
    if (!units) {
      return DataError(
                 "an example's loss or its slope is not a number, so its weights overflow; "
                 "shard a sound model")
          .At(runner_.name());
    }
    AddOutcome(*tally, {false, *units}, {false, *LossUnits(base)});
    return {};
  }

  Status Backward() {
    std::vector<double> slopes(size_t{sequences_} * shape_.width);
    const std::vector<uint32_t>& raised_bits = part_.job.raised_bits;
    for (uint32_t layer = shape_.layers; layer-- > 0;) {
      STI_RETURN_IF_ERROR(BeginStep());
      Decode(layer, low_, &weights_);
      pass_.Backward(layer, weights_, Parameters(layer));
      for (size_t raised = 0; raised < raised_bits.size(); ++raised) {
        Decode(layer, raised_bits[raised], &change_);
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
      const size_t cell = 1 + shard * part_.job.raised_bits.size() + raised;
      const double base = losses_[i / shape_.width];
      const double gain = -slopes[i] - Curvature() / 2 * slopes[i] * slopes[i];
      STI_RETURN_IF_ERROR(AddTo(base - gain, base, &part_.tallies[cell]));
    }
    return {};
  }

  // The loss of several labels is a mean, of which the log-likelihood is the sum.
  [[nodiscard]] double Curvature() const {
    const bool mean = info_.problem == Problem::kMultiLabel && options_.metric == Metric::kLoss;
    return mean ? shape_.labels : 1;
  }

  [[nodiscard]] Status BeginStep() {
    if (options_.cancelled && options_.cancelled()) return CancelledError();
    return {};
  }
  void EndStep() {
    ++done_;
    if (options_.progress) options_.progress(done_, steps_);
  }

  void Decode(uint32_t layer, uint32_t bits, DenseLayer* weights) {
    DecodeLayer(shape_, Views(layer, bits), runner_.pool(), weights);
  }
  [[nodiscard]] std::vector<ShardView> Views(uint32_t layer, uint32_t bits) const {
    return runner_.Views(layer, shape_.width, bits);
  }
  [[nodiscard]] const LayerParameters& Parameters(uint32_t layer) const {
    return runner_.resident().layers[layer];
  }
  [[nodiscard]] std::span<const float> Row(const std::vector<float>& logits, uint32_t s) const {
    return {&logits[size_t{s} * shape_.labels], shape_.labels};
  }

  LayerRunner& runner_;
  const ImportanceOptions& options_;
  ModelInfo info_;
  ModelShape shape_;
  uint32_t low_;
  GradientRun pass_;
  DenseLayer weights_;
  DenseLayer change_;
  const ExampleBatch* batch_ = nullptr;
  uint32_t sequences_ = 0;
  std::vector<float> hidden_;
  std::vector<float> reference_;  // [sequences, labels], for kl
  std::vector<double> losses_;    // [sequences] at the fewest bits
  ImportancePart part_;           // all of the work, as one unit
  uint64_t done_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace

Result<Importance> EstimateImportance(ContainerFile file, const Tokenizer& tokenizer,
                                      std::span<const Example> examples,
                                      const ImportanceOptions& options) {
  if (options.metric == Metric::kAccuracy || options.submodels) {
    return UsageError("gradients estimate losses of shards; take the metric loss or kl");
  }
  STI_RETURN_IF_ERROR(CheckRequest(file, examples, options));
  const ContainerIndex& index = file.index();
  auto batches = BatchExamples(tokenizer, examples, index.info.max_length(),
                               GradientRun::BatchTokens(index.info.shape, options.cache_bytes));
  if (options.metric == Metric::kKl) DropTruths(batches);
  const std::vector<uint32_t> bits =
      options.gains ? index.bits : std::vector<uint32_t>{index.bits.front(), index.bits.back()};
  STI_ASSIGN_OR_RETURN(LoadedModel model, LoadedModel::Load(std::move(file), bits));
  STI_ASSIGN_OR_RETURN(std::unique_ptr<LayerRunner> runner,
                       LayerRunner::Create(std::move(model), ComputeType::kFp32, options.threads));
  return QuickMeter(*runner, options).Estimate(batches);
}

}  // namespace sti
