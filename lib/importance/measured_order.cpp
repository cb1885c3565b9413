#include "importance/measured_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "importance/gradient_meter.h"
#include "importance/loss_gradient.h"
#include "types/finite.h"
#include "types/score.h"

namespace sti {
namespace {

/// Measures, over examples, what leaving out a head, a neuron or a layer changes.
class OrderMeter {
 public:
  explicit OrderMeter(GradientMeter& meter)
      : meter_(meter),
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
    STI_ASSIGN_OR_RETURN(const std::vector<float> logits, meter_.Forward(batch, most_));
    if (!AllFinite(logits)) {
      return DataError(
                 "an example's logits are not numbers, so its weights overflow; shard a "
                 "sound model")
          .At(meter_.runner().name());
    }
    std::vector<float> gradient(logits.size());
    for (uint32_t s = 0; s < batch.batch().sequences(); ++s) {
      const std::span<const float> row(&logits[size_t{s} * shape_.labels], shape_.labels);
      truths_.push_back(batch.truths[s] ? *batch.truths[s] : LabelsOf(problem_, row));
      LossGradient(problem_, row, truths_.back(), &gradient[size_t{s} * shape_.labels]);
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
      AddTo(&heads_[size_t{layer} * shape_.width], heads, shape_.width);
      AddTo(&neurons_[size_t{layer} * shape_.ffn], neurons, shape_.ffn);
    }
    return {};
  }

  /// Adds the absolute values of `changes` [sequences, count] to `sums` [count].
  static void AddTo(double* sums, std::span<const double> changes, size_t count) {
    for (size_t i = 0; i < changes.size(); ++i) sums[i % count] += std::abs(changes[i]);
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

  /// Returns the sum of the losses of all examples when these layers alone run.
  Result<double> LossOf(std::span<const uint32_t> layers) {
    double loss = 0;
    size_t example = 0;
    for (const ExampleBatch& batch : meter_.batches()) {
      STI_ASSIGN_OR_RETURN(const std::vector<float> logits, meter_.Run(batch, layers, most_));
      for (uint32_t s = 0; s < batch.batch().sequences(); ++s) {
        const std::span<const float> row(&logits[size_t{s} * shape_.labels], shape_.labels);
        loss += Judge(problem_, row, truths_[example++]).loss;
      }
    }
    return loss;
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

  GradientMeter& meter_;
  Problem problem_;
  ModelShape shape_;
  uint32_t most_;
  std::vector<double> heads_;                  // [layers, M]
  std::vector<double> neurons_;                // [layers, f]
  std::vector<std::vector<uint32_t>> truths_;  // [examples] or the model's own labels
};

}  // namespace

Result<ModelOrder> MeasureOrder(ContainerFile file, const Tokenizer& tokenizer,
                                std::span<const Example> examples,
                                const ImportanceOptions& options) {
  const std::vector<uint32_t> bits{file.index().bits.back()};
  STI_ASSIGN_OR_RETURN(GradientMeter meter,
                       GradientMeter::Open(std::move(file), tokenizer, examples, options, bits));
  return OrderMeter(meter).Measure();
}

}  // namespace sti
