#include "importance/model_order.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "importance/examples.h"
#include "importance/gradient.h"
#include "importance/importance_job.h"
#include "importance/layer_runner.h"
#include "importance/loss_gradient.h"
#include "types/finite.h"
#include "types/score.h"

namespace sti {
namespace {

/// Measures, over examples, what leaving out a head, a neuron or a layer changes.
class OrderMeter {
 public:
  OrderMeter(LayerRunner& runner, const ImportanceOptions& options)
      : runner_(runner),
        options_(options),
        info_(runner.index().info),
        shape_(info_.shape),
        most_(runner.index().bits.back()),
        pass_(info_, runner.pool()),
        heads_(size_t{shape_.layers} * shape_.width),
        neurons_(size_t{shape_.layers} * shape_.ffn) {}

  Result<ModelOrder> Measure(std::span<const ExampleBatch> batches) {
    steps_ = batches.size() * StepsOfBatch();
    for (const ExampleBatch& batch : batches) {
      STI_RETURN_IF_ERROR(Forward(batch));
      STI_RETURN_IF_ERROR(Backward(batch));
    }
    ModelOrder order = Order();
    STI_ASSIGN_OR_RETURN(order.depth_layers, Depths(batches));
    return order;
  }

 private:
  // The layers of a forward and a backward pass, and of every depth without each of its layers.
  [[nodiscard]] uint64_t StepsOfBatch() const {
    uint64_t steps = 2 * uint64_t{shape_.layers};
    for (uint64_t n = 2; n <= shape_.layers; ++n) steps += n * (n - 1);
    return steps;
  }

  Status Forward(const ExampleBatch& batch) {
    const auto sequences = batch.batch().sequences();
    hidden_.resize(batch.ids.size() * shape_.hidden);
    STI_RETURN_IF_ERROR(runner_.Embed(batch, {0, sequences}, hidden_.data()));
    pass_.Begin(batch.batch());
    for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
      STI_RETURN_IF_ERROR(BeginStep());
      pass_.Forward(layer, Decoded(layer), Parameters(layer), hidden_.data());
      EndStep();
    }
    std::vector<float> logits(size_t{sequences} * shape_.labels);
    std::vector<float> gradient(logits.size());
    pass_.Head(runner_.resident().head, hidden_.data(), logits.data());
    if (!AllFinite(logits)) {
      return DataError(
                 "an example's logits are not numbers, so its weights overflow; shard a "
                 "sound model")
          .At(runner_.name());
    }
    for (uint32_t s = 0; s < sequences; ++s) {
      const std::span<const float> row(&logits[size_t{s} * shape_.labels], shape_.labels);
      truths_.push_back(batch.truths[s] ? *batch.truths[s] : LabelsOf(info_.problem, row));
      LossGradient(info_.problem, row, truths_.back(), &gradient[size_t{s} * shape_.labels]);
    }
    pass_.BeginBackward(runner_.resident().head, gradient);
    return {};
  }

  Status Backward(const ExampleBatch& batch) {
    const auto sequences = batch.batch().sequences();
    std::vector<double> heads(size_t{sequences} * shape_.width);
    std::vector<double> neurons(size_t{sequences} * shape_.ffn);
    for (uint32_t layer = shape_.layers; layer-- > 0;) {
      STI_RETURN_IF_ERROR(BeginStep());
      pass_.Backward(layer, Decoded(layer), Parameters(layer));
      pass_.Contributions(weights_, heads.data(), neurons.data());
      AddTo(&heads_[size_t{layer} * shape_.width], heads, shape_.width);
      AddTo(&neurons_[size_t{layer} * shape_.ffn], neurons, shape_.ffn);
      EndStep();
    }
    return {};
  }

  /// Adds the absolute values of `changes` [sequences, count] to `sums` [count].
  static void AddTo(double* sums, std::span<const double> changes, size_t count) {
    for (size_t i = 0; i < changes.size(); ++i) sums[i % count] += std::abs(changes[i]);
  }

  /// Leaves out one layer after another, the one that is missed least.
  Result<std::vector<std::vector<uint32_t>>> Depths(std::span<const ExampleBatch> batches) {
    std::vector<std::vector<uint32_t>> depths(shape_.layers);
    std::vector<uint32_t> kept(shape_.layers);
    std::iota(kept.begin(), kept.end(), 0U);
    depths.back() = kept;
    while (kept.size() > 1) {
      std::vector<uint32_t> best;
      double least = 0;
      for (size_t out = 0; out < kept.size(); ++out) {
        std::vector<uint32_t> rest = kept;
        rest.erase(rest.begin() + static_cast<ptrdiff_t>(out));
        STI_ASSIGN_OR_RETURN(const double loss, LossOf(batches, rest));
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
  Result<double> LossOf(std::span<const ExampleBatch> batches, std::span<const uint32_t> layers) {
    double loss = 0;
    size_t example = 0;
    for (const ExampleBatch& batch : batches) {
      const auto sequences = batch.batch().sequences();
      hidden_.resize(batch.ids.size() * shape_.hidden);
      STI_RETURN_IF_ERROR(runner_.Embed(batch, {0, sequences}, hidden_.data()));
      for (const uint32_t layer : layers) {
        STI_RETURN_IF_ERROR(BeginStep());
        runner_.Layer(batch.batch(), layer, runner_.Views(layer, shape_.width, most_),
                      hidden_.data());
        EndStep();
      }
      std::vector<float> firsts(size_t{sequences} * shape_.hidden);
      CopyFirsts(batch.batch(), shape_.hidden, hidden_.data(), firsts.data());
      std::vector<float> logits(size_t{sequences} * shape_.labels);
      runner_.Head(sequences, firsts.data(), logits.data());
      for (uint32_t s = 0; s < sequences; ++s) {
        const std::span<const float> row(&logits[size_t{s} * shape_.labels], shape_.labels);
        loss += Judge(info_.problem, row, truths_[example++]).loss;
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

  [[nodiscard]] Status BeginStep() {
    if (options_.cancelled && options_.cancelled()) return CancelledError();
    return {};
  }
  void EndStep() {
    ++done_;
    if (options_.progress) options_.progress(done_, steps_);
  }

  const DenseLayer& Decoded(uint32_t layer) {
    DecodeLayer(shape_, runner_.Views(layer, shape_.width, most_), runner_.pool(), &weights_);
    return weights_;
  }
  [[nodiscard]] const LayerParameters& Parameters(uint32_t layer) const {
    return runner_.resident().layers[layer];
  }

  LayerRunner& runner_;
  const ImportanceOptions& options_;
  ModelInfo info_;
  ModelShape shape_;
  uint32_t most_;
  GradientRun pass_;
  DenseLayer weights_;
  std::vector<float> hidden_;
  std::vector<double> heads_;                  // [layers, M]
  std::vector<double> neurons_;                // [layers, f]
  std::vector<std::vector<uint32_t>> truths_;  // [examples] or the model's own labels
  uint64_t done_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace

Result<ModelOrder> MeasureOrder(ContainerFile file, const Tokenizer& tokenizer,
                                std::span<const Example> examples,
                                const ImportanceOptions& options) {
  STI_RETURN_IF_ERROR(CheckRequest(file, examples, options));
  const ContainerIndex& index = file.index();
  auto batches = BatchExamples(tokenizer, examples, index.info.max_length(),
                               GradientRun::BatchTokens(index.info.shape, options.cache_bytes));
  if (options.metric == Metric::kKl) DropTruths(batches);
  const std::vector<uint32_t> bits{index.bits.back()};
  STI_ASSIGN_OR_RETURN(LoadedModel model, LoadedModel::Load(std::move(file), bits));
  STI_ASSIGN_OR_RETURN(std::unique_ptr<LayerRunner> runner,
                       LayerRunner::Create(std::move(model), ComputeType::kFp32, options.threads));
  return OrderMeter(*runner, options).Measure(batches);
}

}  // namespace sti
