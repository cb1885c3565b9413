#include "importance/quick_importance.h"

#include <algorithm>
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
        metric_(options.metric),
        problem_(meter.info().problem),
        shape_(meter.shape()),
        of_tokens_(meter.info().labels_tokens()),
        values_each_(meter.info().head_values()),
        low_(meter.runner().index().bits.front()) {
    LayerRunner& runner = meter_.runner();
    part_.job = JobOf(runner.index(), meter_.batches(), options, runner.kernel().name);
    part_.tallies.resize(CellsOf(part_.job));
  }

  Result<Importance> Estimate() {
    const bool by_reference = TraitsOf(metric_).by_reference;
    meter_.Expect(meter_.batches().size() * shape_.layers * (by_reference ? 3 : 2));
    for (const ExampleBatch& batch : meter_.batches()) {
      if (by_reference) STI_RETURN_IF_ERROR(RunReference(batch));
      STI_RETURN_IF_ERROR(Forward(batch));
      STI_RETURN_IF_ERROR(Backward(batch));
    }
    part_.end = part_.due = part_.job.units;
    STI_ASSIGN_OR_RETURN(Importance importance,
                         JoinImportanceParts({{"the estimate", std::move(part_)}}));
    importance.estimate = QuickEstimateOf(metric_);
    return importance;
  }

 private:
  // Runs the full model, for what its head gives.
  Status RunReference(const ExampleBatch& batch) {
    const uint32_t most = meter_.runner().index().bits.back();
    STI_ASSIGN_OR_RETURN(reference_, meter_.Run(batch, FirstLayers(shape_.layers), most));
    return {};
  }

  Status Forward(const ExampleBatch& batch) {
    STI_ASSIGN_OR_RETURN(values_, meter_.Forward(batch, low_));
    gradient_.resize(values_.size());
    losses_.clear();
    curvatures_.clear();
    for (uint32_t e = 0; e < batch.examples(); ++e) {
      losses_.push_back(LossAndGradient(batch, e));
      curvatures_.push_back(CurvatureOf(batch, e));
      if (!AllFinite(batch.ResultsOf(e).Of(std::span(values_), values_each_)))
        losses_.back() = std::numeric_limits<double>::quiet_NaN();
      STI_RETURN_IF_ERROR(AddTo(losses_.back(), losses_.back(), part_.tallies.data()));
    }
    return {};
  }

  // Does what LossAndGradient does for a model that labels tokens.
  double WordLossAndGradient(const ExampleBatch& batch, uint32_t e) {
    const ResultRange results = batch.ResultsOf(e);
    const std::span<float> gradient = results.Of(std::span(gradient_), values_each_);
    const TokenLogits logits{results.Of(std::span(values_), values_each_), values_each_};
    const WordTruth& truth = batch.word_truths[e];
    if (metric_ == Metric::kLoss) {
      WordLossGradient(truth, logits, gradient);
      return WordLoss(truth, logits);
    }
    const TokenLogits reference{results.Of(std::span(reference_), values_each_), values_each_};
    WordDivergenceGradient(truth, reference, logits, gradient);
    return WordDivergence(truth, reference, logits);
  }

  // Returns the loss of an example at the fewest bits, and finds its gradient at the values.
  double LossAndGradient(const ExampleBatch& batch, uint32_t e) {
    if (of_tokens_) return WordLossAndGradient(batch, e);
    switch (metric_) {
      case Metric::kAccuracy:  // has no gradient, and is refused before, as is the next
      case Metric::kF1:
      case Metric::kLoss: {
        const std::vector<uint32_t>& truth = *batch.truths[e];
        LossGradient(problem_, Row(values_, e), truth, Gradient(e));
        return Judge(problem_, Row(values_, e), truth).loss;
      }
      case Metric::kKl:
        DivergenceGradient(problem_, Row(reference_, e), Row(values_, e), Gradient(e));
        return Divergence(problem_, Row(reference_, e), Row(values_, e));
      case Metric::kCosine:
        return CosineLoss(e, Row(reference_, e));
      case Metric::kSpearman:
        CosineLoss(2 * e + 1, Row(values_, 2 * e));
        return CosineLoss(2 * e, Row(values_, 2 * e + 1));
    }
    return 0;
  }

  // Returns one less the cosine of a sequence's embedding and another, with its gradient.
  double CosineLoss(uint32_t s, std::span<const float> other) {
    CosineGradient(Row(values_, s), other, Gradient(s));
    for (uint32_t i = 0; i < values_each_; ++i) Gradient(s)[i] = -Gradient(s)[i];
    return 1 - Cosine(Row(values_, s), other);
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
    Outcome outcome{false, *units};
    if (metric_ == Metric::kSpearman) outcome.cosine = CosineUnits(1 - loss);
    AddOutcome(*tally, outcome, {false, *LossUnits(base)});
    return {};
  }

  Status Backward(const ExampleBatch& batch) {
    const size_t each = batch.sequences_each();
    std::vector<double> of_sequences(each * losses_.size() * shape_.width);
    std::vector<double> slopes(losses_.size() * shape_.width);
    const std::vector<uint32_t>& raised_bits = part_.job.raised_bits;
    meter_.BeginBackward(gradient_);
    for (uint32_t layer = shape_.layers; layer-- > 0;) {
      STI_ASSIGN_OR_RETURN(const DenseLayer* weights, meter_.Backward(layer));
      for (size_t raised = 0; raised < raised_bits.size(); ++raised) {
        meter_.Decode(layer, raised_bits[raised], &change_);
        Subtract(*weights, &change_);
        meter_.pass().Derivatives(change_, of_sequences.data());
        std::fill(slopes.begin(), slopes.end(), 0.0);
        for (size_t i = 0; i < of_sequences.size(); ++i) {
          const size_t example = i / shape_.width / each;
          slopes[example * shape_.width + i % shape_.width] += of_sequences[i];
        }
        STI_RETURN_IF_ERROR(AddSlopes(layer, raised, slopes));
      }
    }
    return {};
  }

  Status AddSlopes(uint32_t layer, size_t raised, std::span<const double> slopes) {
    for (size_t i = 0; i < slopes.size(); ++i) {
      const size_t shard = layer * size_t{shape_.width} + i % shape_.width;
      const size_t cell = 1 + shard * part_.job.raised_bits.size() + raised;
      const size_t example = i / shape_.width;
      const double base = losses_[example];
      const double gain = GainOf(slopes[i], curvatures_[example]);
      STI_RETURN_IF_ERROR(AddTo(base - gain, base, &part_.tallies[cell]));
    }
    return {};
  }

  // Returns the curvature of an example's loss over the square of its slope. Of a log-likelihood it
  // is 1. The loss of several labels or words is the mean of as many: its slope is that part of
  // the sum's, so that the square is a part of a part.
  [[nodiscard]] double CurvatureOf(const ExampleBatch& batch, uint32_t e) const {
    if (of_tokens_) return std::max(1U, CountedWords(batch.word_truths[e]));
    return problem_ == Problem::kMultiLabel && metric_ == Metric::kLoss ? shape_.labels : 1;
  }

  // Returns how far a loss falls that has this slope.
  [[nodiscard]] double GainOf(double slope, double curvature) const {
    if (metric_ == Metric::kCosine) return -slope / 2;
    if (metric_ == Metric::kSpearman) return -slope;
    return -slope - curvature / 2 * slope * slope;
  }

  [[nodiscard]] std::span<const float> Row(const std::vector<float>& values, uint32_t s) const {
    return {&values[size_t{s} * values_each_], values_each_};
  }
  [[nodiscard]] float* Gradient(uint32_t s) { return &gradient_[size_t{s} * values_each_]; }

  GradientMeter& meter_;
  Metric metric_;
  Problem problem_;
  ModelShape shape_;
  bool of_tokens_;        // the head has a result for each token, and else for each sequence
  uint32_t values_each_;  // of a result
  uint32_t low_;
  DenseLayer change_;
  std::vector<float> reference_;    // [results, values] of the full model, where it is needed
  std::vector<float> values_;       // [results, values] at the fewest bits
  std::vector<float> gradient_;     // [results, values]
  std::vector<double> losses_;      // [examples] at the fewest bits
  std::vector<double> curvatures_;  // [examples] CurvatureOf
  ImportancePart part_;             // all of the work, as one unit
};

}  // namespace

std::string_view QuickEstimateOf(Metric metric) {
  if (metric == Metric::kCosine) return "half of first-order";
  return metric == Metric::kSpearman ? "first-order" : "empirical Fisher";
}

Result<Importance> EstimateImportance(ContainerFile file, const Tokenizer& tokenizer,
                                      std::span<const Example> examples,
                                      const ImportanceOptions& options) {
  if (TraitsOf(options.metric).is_counted || options.submodels) {
    return UsageError(
        "gradients estimate shards, and nothing that is counted, as accuracy and f1 are; take the "
        "metric loss or kl, no submodels");
  }
  const std::vector<uint32_t> all = file.index().bits;
  const std::vector<uint32_t> bits =
      options.gains ? all : std::vector<uint32_t>{all.front(), all.back()};
  STI_ASSIGN_OR_RETURN(GradientMeter meter,
                       GradientMeter::Open(std::move(file), tokenizer, examples, options, bits));
  return QuickMeter(meter, options).Estimate();
}

}  // namespace sti
