#include "importance/quick_importance.h"

#include <limits>
#include <vector>

#include "importance/gradient_meter.h"
#include "importance/importance_job.h"
#include "importance/importance_join.h"
#include "importance/loss_gradient.h"
#include "importance/tally.h"
#include "types/finite.h"
#include "types/score.h"

namespace sti {
namespace {

class QuickMeter {
 public:
  QuickMeter(GradientMeter& meter, const ImportanceOptions& options)
      : meter_(meter),
        options_(options),
        problem_(meter.info().problem),
        shape_(meter.shape()),
        low_(meter.runner().index().bits.front()) {}

  Result<Importance> Estimate() {
    LayerRunner& runner = meter_.runner();
    part_.job = JobOf(runner.index(), meter_.batches(), options_, runner.kernel().name);
    part_.tallies.resize(CellsOf(part_.job));
    const bool by_reference = options_.metric == Metric::kKl;
    meter_.Expect(meter_.batches().size() * shape_.layers * (by_reference ? 3 : 2));
    for (const ExampleBatch& batch : meter_.batches()) {
      if (by_reference) STI_RETURN_IF_ERROR(RunReference(batch));
      STI_RETURN_IF_ERROR(Forward(batch));
      STI_RETURN_IF_ERROR(Backward());
    }
    part_.end = part_.due = part_.job.units;
    STI_ASSIGN_OR_RETURN(Importance importance,
                         JoinImportanceParts({{"the estimate", std::move(part_)}}));
    importance.estimate = kQuickEstimate;
    return importance;
  }

 private:
  // The full model's logits.
  Status RunReference(const ExampleBatch& batch) {
    const uint32_t most = meter_.runner().index().bits.back();
    STI_ASSIGN_OR_RETURN(reference_, meter_.Run(batch, FirstLayers(shape_.layers), most));
    return {};
  }

  Status Forward(const ExampleBatch& batch) {
    STI_ASSIGN_OR_RETURN(const std::vector<float> logits, meter_.Forward(batch, low_));
    std::vector<float> gradient(logits.size());
    losses_.clear();
    for (uint32_t s = 0; s < batch.batch().sequences(); ++s) {
      STI_RETURN_IF_ERROR(AddLoss(batch, s, Row(logits, s), &gradient[size_t{s} * shape_.labels]));
    }
    meter_.BeginBackward(gradient);
    return {};
  }

  // Adds the loss of an example at the fewest bits, and finds its gradient at the logits.
  Status AddLoss(const ExampleBatch& batch, uint32_t s, std::span<const float> logits,
                 float* gradient) {
    if (options_.metric == Metric::kKl) {
      const std::span<const float> reference = Row(reference_, s);
      losses_.push_back(Divergence(problem_, reference, logits));
      DivergenceGradient(problem_, reference, logits, gradient);
    } else {
      const std::vector<uint32_t>& truth = *batch.truths[s];
      losses_.push_back(Judge(problem_, logits, truth).loss);
      LossGradient(problem_, logits, truth, gradient);
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
          .At(meter_.runner().name());
    }
    AddOutcome(*tally, {false, *units}, {false, *LossUnits(base)});
    return {};
  }

  Status Backward() {
    std::vector<double> slopes(losses_.size() * shape_.width);
    const std::vector<uint32_t>& raised_bits = part_.job.raised_bits;
    for (uint32_t layer = shape_.layers; layer-- > 0;) {
      STI_ASSIGN_OR_RETURN(const DenseLayer* weights, meter_.Backward(layer));
      for (size_t raised = 0; raised < raised_bits.size(); ++raised) {
        meter_.Decode(layer, raised_bits[raised], &change_);
        Subtract(*weights, &change_);
        meter_.pass().Derivatives(change_, slopes.data());
        STI_RETURN_IF_ERROR(AddSlopes(layer, raised, slopes));
      }
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
    const bool mean = problem_ == Problem::kMultiLabel && options_.metric == Metric::kLoss;
    return mean ? shape_.labels : 1;
  }

  [[nodiscard]] std::span<const float> Row(const std::vector<float>& logits, uint32_t s) const {
    return {&logits[size_t{s} * shape_.labels], shape_.labels};
  }

  GradientMeter& meter_;
  const ImportanceOptions& options_;
  Problem problem_;
  ModelShape shape_;
  uint32_t low_;
  DenseLayer change_;
  std::vector<float> reference_;  // [sequences, labels], for kl
  std::vector<double> losses_;    // [sequences] at the fewest bits
  ImportancePart part_;           // all of the work, as one unit
};

}  // namespace

Result<Importance> EstimateImportance(ContainerFile file, const Tokenizer& tokenizer,
                                      std::span<const Example> examples,
                                      const ImportanceOptions& options) {
  if (options.metric == Metric::kAccuracy || options.submodels) {
    return UsageError("gradients estimate losses of shards; take the metric loss or kl");
  }
  const std::vector<uint32_t> all = file.index().bits;
  const std::vector<uint32_t> bits =
      options.gains ? all : std::vector<uint32_t>{all.front(), all.back()};
  STI_ASSIGN_OR_RETURN(GradientMeter meter,
                       GradientMeter::Open(std::move(file), tokenizer, examples, options, bits));
  return QuickMeter(meter, options).Estimate();
}

}  // namespace sti
