#include "measure/batch_runner.h"

#include <algorithm>
#include <numeric>

namespace sti {

const char* MetricName(Metric metric) {
  if (metric == Metric::kAccuracy) return "accuracy";
  return metric == Metric::kLoss ? "loss" : "kl";
}

BatchRunner::BatchRunner(LoadedModel model, Metric metric, uint32_t threads)
    : model_(std::move(model)),
      metric_(metric),
      shape_(model_.index().info.shape),
      problem_(model_.index().info.problem),
      pool_(threads),
      slices_(shape_.width) {
  std::iota(slices_.begin(), slices_.end(), 0U);
}

Result<std::unique_ptr<BatchRunner>> BatchRunner::Create(LoadedModel model, Metric metric,
                                                         uint32_t threads) {
  std::unique_ptr<BatchRunner> runner(new BatchRunner(std::move(model), metric, threads));
  STI_ASSIGN_OR_RETURN(
      runner->transformer_,
      Transformer::Create(runner->index().info, runner->pool_, {Backend::kNative}));
  return runner;
}

Status BatchRunner::Begin(const ExampleBatch& batch) {
  batch_ = &batch;
  embedded_.resize(batch.ids.size() * shape_.hidden);
  STI_RETURN_IF_ERROR(
      model_.Embed(*transformer_, batch.batch(), batch.ids, batch.types, embedded_.data()));
  if (metric_ == Metric::kKl) RunReference();
  return {};
}

void BatchRunner::RunReference() {
  hidden_ = embedded_;
  for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
    RunLayer(layer, Views(layer, shape_.width, index().bits.back()), hidden_.data());
  }
  Head(hidden_.data(), &reference_);
  reference_labels_.clear();
  const uint32_t sequences = batch_->batch().sequences();
  reference_labels_.reserve(sequences);
  for (uint32_t s = 0; s < sequences; ++s) {
    reference_labels_.push_back(LabelsOf(problem_, Row(reference_, s)));
  }
}

std::vector<ShardView> BatchRunner::Views(uint32_t layer, uint32_t width, uint32_t bits) const {
  std::vector<ShardView> views;
  views.reserve(width);
  for (uint32_t slice = 0; slice < width; ++slice) views.push_back(View(layer, slice, bits));
  return views;
}

void BatchRunner::RunLayer(uint32_t layer, std::span<const ShardView> views, float* hidden) {
  transformer_->RunLayer(batch_->batch(), views, std::span(slices_).first(views.size()),
                         model_.resident().layers[layer], hidden);
}

void BatchRunner::Head(const float* hidden, std::vector<float>* logits) {
  logits->resize(size_t{batch_->batch().sequences()} * shape_.labels);
  transformer_->Head(batch_->batch(), hidden, model_.resident().head, logits->data());
}

std::span<const float> BatchRunner::Row(const std::vector<float>& logits, uint32_t s) const {
  return {&logits[size_t{s} * shape_.labels], shape_.labels};
}

void BatchRunner::Score(const float* hidden, Outcomes* outcomes) {
  Head(hidden, &logits_);
  const uint32_t sequences = batch_->batch().sequences();
  for (uint32_t s = 0; s < sequences; ++s) {
    const std::span<const float> row = Row(logits_, s);
    const bool by_reference = metric_ == Metric::kKl;
    const Judgement judged =
        Judge(problem_, row, by_reference ? reference_labels_[s] : *batch_->truths[s]);
    outcomes->right.Add(judged.right ? 1.0 : 0.0);
    outcomes->loss.Add(by_reference ? Divergence(problem_, Row(reference_, s), row) : judged.loss);
  }
}

}  // namespace sti
