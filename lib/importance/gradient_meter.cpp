#include "importance/gradient_meter.h"

#include <utility>

#include "importance/importance_job.h"

namespace sti {

Result<GradientMeter> GradientMeter::Open(ContainerFile file, const Tokenizer& tokenizer,
                                          std::span<const Example> examples,
                                          const ImportanceOptions& options,
                                          std::span<const uint32_t> bits) {
  STI_RETURN_IF_ERROR(CheckRequest(file, examples, options));
  const ModelInfo& info = file.index().info;
  STI_ASSIGN_OR_RETURN(const std::optional<TagScheme> tags, TagsOf(info));
  auto batches = BatchExamples(tokenizer, examples, options.metric, info.max_length(),
                               GradientRun::BatchTokens(info.shape, options.cache_bytes), tags);
  STI_ASSIGN_OR_RETURN(LoadedModel model, LoadedModel::Load(std::move(file), bits));
  STI_ASSIGN_OR_RETURN(std::unique_ptr<LayerRunner> runner,
                       LayerRunner::Create(std::move(model), ComputeType::kFp32, options.threads));
  return GradientMeter(std::move(runner), std::move(batches), options);
}

GradientMeter::GradientMeter(std::unique_ptr<LayerRunner> runner, std::vector<ExampleBatch> batches,
                             const ImportanceOptions& options)
    : options_(&options),
      batches_(std::move(batches)),
      runner_(std::move(runner)),
      pass_(std::make_unique<GradientRun>(info(), runner_->pool())) {}

Result<std::vector<float>> GradientMeter::Run(const ExampleBatch& batch,
                                              std::span<const uint32_t> layers, uint32_t bits) {
  STI_RETURN_IF_ERROR(Embed(batch));
  for (const uint32_t layer : layers) {
    STI_RETURN_IF_ERROR(BeginLayer());
    runner_->Layer(batch.batch(), layer, runner_->Views(layer, shape().width, bits),
                   hidden_.data());
    EndLayer();
  }
  const OutputRows rows = runner_->head_rows();
  std::vector<float> wanted(size_t{batch.batch().Count(rows)} * shape().hidden);
  CopyRows(batch.batch(), rows, shape().hidden, hidden_.data(), wanted.data());
  std::vector<float> values(runner_->ValuesOf(batch.batch()));
  runner_->Head(batch.batch(), wanted.data(), values.data());
  return values;
}

Result<std::vector<float>> GradientMeter::Forward(const ExampleBatch& batch, uint32_t bits) {
  bits_ = bits;
  STI_RETURN_IF_ERROR(Embed(batch));
  pass_->Begin(batch.batch());
  for (uint32_t layer = 0; layer < shape().layers; ++layer) {
    STI_RETURN_IF_ERROR(BeginLayer());
    Decode(layer, bits_, &weights_);
    pass_->Forward(layer, weights_, Parameters(layer), hidden_.data());
    EndLayer();
  }
  std::vector<float> values(runner_->ValuesOf(batch.batch()));
  pass_->Head(runner_->resident().head, hidden_.data(), values.data());
  return values;
}

void GradientMeter::BeginBackward(std::span<const float> value_gradient) {
  pass_->BeginBackward(runner_->resident().head, value_gradient);
}

Result<const DenseLayer*> GradientMeter::Backward(uint32_t layer) {
  STI_RETURN_IF_ERROR(BeginLayer());
  Decode(layer, bits_, &weights_);
  pass_->Backward(layer, weights_, Parameters(layer));
  EndLayer();
  return &weights_;
}

void GradientMeter::Decode(uint32_t layer, uint32_t bits, DenseLayer* weights) {
  DecodeLayer(shape(), runner_->Views(layer, shape().width, bits), runner_->pool(), weights);
}

Status GradientMeter::Embed(const ExampleBatch& batch) {
  hidden_.resize(batch.ids.size() * shape().hidden);
  return runner_->Embed(batch, {0, batch.batch().sequences()}, hidden_.data());
}

Status GradientMeter::BeginLayer() const {
  if (options_->cancelled && options_->cancelled()) return CancelledError();
  return {};
}

void GradientMeter::EndLayer() {
  ++done_;
  if (options_->progress) options_->progress(done_, layers_);
}

}  // namespace sti
