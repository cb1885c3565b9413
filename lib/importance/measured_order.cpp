#include "importance/measured_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "importance/gradient_meter.h"
#include "importance/loss_gradient.h"
#include "types/finite.h"
#include "types/rank_correlation.h"
#include "types/score.h"

namespace sti {
namespace {

/// Measures, over examples, what leaving out a head, a neuron or a layer changes.
class OrderMeter {
 public:
  OrderMeter(GradientMeter& meter, Metric metric)
      : meter_(meter),
        metric_(metric),
        output_(meter.info().head.output),
        values_each_(meter.info().head_values()),
        problem_(meter.info().problem),
        shape_(meter.shape()),
        most_(meter.runner().index().bits.back()),
        heads_(size_t{shape_.layers} * shape_.width),
        neurons_(size_t{shape_.layers} * shape_.ffn) {}

  Result<ModelOrder> Measure() {
    meter_.Expect(meter_.batches().size() * LayersOfBatch());
    for (const ExampleBatch& batch : meter_.batches()) {
      STI_RETURN_IF_ERROR(Forward(batch));
      STI_RETURN_IF_ERROR(Backward(batch));
    }
    ModelOrder order = Order();
    STI_ASSIGN_OR_RETURN(order.depth_layers, Depths());
    return order;
  }

 private:
  // The layers of a forward and a backward pass, and of every depth without each of its layers.
  [[nodiscard]] uint64_t LayersOfBatch() const {
    uint64_t layers = 2 * uint64_t{shape_.layers};
    for (uint64_t n = 2; n <= shape_.layers; ++n) layers += n * (n - 1);
    return layers;
  }

  Status Forward(const ExampleBatch& batch) {
    STI_ASSIGN_OR_RETURN(const std::vector<float> values, meter_.Forward(batch, most_));
    if (!AllFinite(values)) {
      const bool embeds = output_ == HeadOutput::kEmbedding;
      return DataError(std::string("an example's ") + (embeds ? "numbers" : "logits") +
                       " are not numbers, so its weights overflow; shard a sound model")
          .At(meter_.runner().name());
    }
    std::vector<float> gradient(values.size());
    const auto at = [&](uint32_t s) { return &gradient[size_t{s} * values_each_]; };
    for (uint32_t s = 0; s < batch.batch().sequences(); ++s) {
      if (output_ == HeadOutput::kTokenLabels) {
        words_.push_back(KnownWords(batch.word_truths[s], LogitsOf(batch, s, values)));
        WordLossGradient(words_.back(), LogitsOf(batch, s, values),
                         batch.ResultsOf(s).Of(std::span(gradient), values_each_));
        continue;
      }
      const std::span<const float> row = Row(values, s);
      if (output_ == HeadOutput::kLabels) {
        truths_.push_back(batch.truths[s] ? *batch.truths[s] : LabelsOf(problem_, row));
        LossGradient(problem_, row, truths_.back(), at(s));
      } else if (metric_ == Metric::kSpearman) {
        CosineGradient(row, Row(values, s ^ 1), at(s));
      } else {
        DirectionGradient(row, number_++, at(s));
        whole_.insert(whole_.end(), row.begin(), row.end());
      }
    }
    meter_.BeginBackward(gradient);
    return {};
  }

  Status Backward(const ExampleBatch& batch) {
    const auto sequences = batch.batch().sequences();
    std::vector<double> heads(size_t{sequences} * shape_.width);
    std::vector<double> neurons(size_t{sequences} * shape_.ffn);
    for (uint32_t layer = shape_.layers; layer-- > 0;) {
      STI_ASSIGN_OR_RETURN(const DenseLayer* weights, meter_.Backward(layer));
      meter_.pass().Contributions(*weights, heads.data(), neurons.data());
      const uint32_t each = batch.sequences_each();
      AddTo(&heads_[size_t{layer} * shape_.width], heads, shape_.width, each);
      AddTo(&neurons_[size_t{layer} * shape_.ffn], neurons, shape_.ffn, each);
    }
    return {};
  }

  /// Adds the absolute values of examples' changes to `sums` [count]. An example's are the sums of
  /// those of its `each` sequences, `changes` [sequences, count].
  static void AddTo(double* sums, std::span<const double> changes, size_t count, uint32_t each) {
    for (size_t example = 0; example < changes.size(); example += each * count) {
      for (size_t i = 0; i < count; ++i) {
        double change = 0;
        for (uint32_t s = 0; s < each; ++s) change += changes[example + s * count + i];
        sums[i] += std::abs(change);
      }
    }
  }

  /// Leaves out one layer after another, the one that is missed least.
  Result<DepthMap> Depths() {
    DepthMap depths(shape_.layers);
    std::vector<uint32_t> kept = FirstLayers(shape_.layers);
    depths.back() = kept;
    while (kept.size() > 1) {
      std::vector<uint32_t> best;
      double least = 0;
      for (size_t out = 0; out < kept.size(); ++out) {
        std::vector<uint32_t> rest = kept;
        rest.erase(rest.begin() + static_cast<ptrdiff_t>(out));
        STI_ASSIGN_OR_RETURN(const double loss, LossOf(rest));
        if (!best.empty() && !(loss <= least)) continue;
        least = loss;
        best = std::move(rest);
      }
      kept = std::move(best);
      depths[kept.size() - 1] = kept;
    }
    return depths;
  }

  /// Returns the loss of all examples when these layers alone run.
  Result<double> LossOf(std::span<const uint32_t> layers) {
    double loss = 0;
    size_t example = 0;
    std::vector<double> cosines;
    std::vector<double> scores;
    for (const ExampleBatch& batch : meter_.batches()) {
      STI_ASSIGN_OR_RETURN(const std::vector<float> values, meter_.Run(batch, layers, most_));
      for (uint32_t s = 0; s < batch.batch().sequences(); ++s) {
        if (output_ == HeadOutput::kTokenLabels) {
          loss += WordLoss(words_[example++], LogitsOf(batch, s, values));
          continue;
        }
        const std::span<const float> row = Row(values, s);
        if (output_ == HeadOutput::kLabels) {
          loss += Judge(problem_, row, truths_[example++]).loss;
        } else if (metric_ == Metric::kCosine) {
          loss += 1 - Cosine(row, Row(whole_, example++));
        } else if (s % 2 == 1) {
          cosines.push_back(Cosine(Row(values, s - 1), row));
        }
      }
      scores.insert(scores.end(), batch.scores.begin(), batch.scores.end());
    }
    return metric_ == Metric::kSpearman ? 1 - Spearman(cosines, scores).value_or(0) : loss;
  }

  [[nodiscard]] ModelOrder Order() const {
    ModelOrder order;
    for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
      Append(&order.heads, Descending({&heads_[size_t{layer} * shape_.width], shape_.width}));
      Append(&order.neurons, Descending({&neurons_[size_t{layer} * shape_.ffn], shape_.ffn}));
    }
    return order;
  }

  /// Returns the indexes of sums, the greatest first.
  static std::vector<uint32_t> Descending(std::span<const double> sums) {
    std::vector<uint32_t> order(sums.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return sums[a] > sums[b]; });
    return order;
  }
  static void Append(std::vector<uint32_t>* all, const std::vector<uint32_t>& more) {
    all->insert(all->end(), more.begin(), more.end());
  }

  [[nodiscard]] TokenLogits LogitsOf(const ExampleBatch& batch, uint32_t s,
                                     const std::vector<float>& values) const {
    return {batch.ResultsOf(s).Of(std::span(values), values_each_), values_each_};
  }

  /// Returns the truth of words, or where nothing is known of them the labels that they are given.
  static WordTruth KnownWords(WordTruth truth, const TokenLogits& logits) {
    if (truth.labels.empty()) truth.labels = LabelsGiven(truth, logits);
    return truth;
  }

  [[nodiscard]] std::span<const float> Row(const std::vector<float>& values, size_t s) const {
    return {&values[s * values_each_], values_each_};
  }

  GradientMeter& meter_;
  Metric metric_;
  HeadOutput output_;
  uint32_t values_each_;  // of a result of the head
  uint64_t number_ = 0;   // of the next example, by which its direction is drawn
  Problem problem_;
  ModelShape shape_;
  uint32_t most_;
  std::vector<double> heads_;                  // [layers, M]
  std::vector<double> neurons_;                // [layers, f]
  std::vector<std::vector<uint32_t>> truths_;  // [examples] or the model's own labels
  std::vector<WordTruth> words_;               // [examples] with labels, of tokens
  std::vector<float> whole_;                   // [examples, values] of all layers, by kCosine
};

}  // namespace

Result<ModelOrder> MeasureOrder(ContainerFile file, const Tokenizer& tokenizer,
                                std::span<const Example> examples,
                                const ImportanceOptions& options) {
  const std::vector<uint32_t> bits{file.index().bits.back()};
  STI_ASSIGN_OR_RETURN(GradientMeter meter,
                       GradientMeter::Open(std::move(file), tokenizer, examples, options, bits));
  return OrderMeter(meter, options.metric).Measure();
}

}  // namespace sti
