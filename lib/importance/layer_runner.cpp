#include "importance/layer_runner.h"

#include <algorithm>
#include <numeric>

namespace sti {

std::vector<uint32_t> OffsetsOf(const ExampleBatch& chunk, SequenceRange range, uint32_t copies) {
  const uint32_t begin = chunk.offsets[range.first];
  const uint32_t tokens = chunk.offsets[range.first + range.count] - begin;
  std::vector<uint32_t> offsets = {0};
  offsets.reserve(size_t{copies} * range.count + 1);
  for (uint32_t copy = 0; copy < copies; ++copy) {
    for (uint32_t s = 1; s <= range.count; ++s) {
      offsets.push_back(chunk.offsets[range.first + s] - begin + copy * tokens);
    }
  }
  return offsets;
}

LayerRunner::LayerRunner(LoadedModel model, uint32_t threads)
    : model_(std::move(model)), pool_(threads), slices_(shape().width) {
  std::iota(slices_.begin(), slices_.end(), 0U);
}

Result<std::unique_ptr<LayerRunner>> LayerRunner::Create(LoadedModel model, ComputeType compute,
                                                         uint32_t threads) {
  std::unique_ptr<LayerRunner> runner(new LayerRunner(std::move(model), threads));
  STI_ASSIGN_OR_RETURN(
      runner->transformer_,
      Transformer::Create(runner->index().info, runner->pool_, {Backend::kNative, compute}));
  return runner;
}

uint64_t LayerRunner::Reserve(uint32_t tokens) {
  transformer_->Reserve(tokens, shape().width);
  return transformer_->working_bytes();
}

std::vector<ShardView> LayerRunner::Views(uint32_t layer, uint32_t width, uint32_t bits) const {
  std::vector<ShardView> views;
  views.reserve(width);
  for (uint32_t slice = 0; slice < width; ++slice) views.push_back(View(layer, slice, bits));
  return views;
}

Status LayerRunner::Embed(const ExampleBatch& chunk, SequenceRange range, float* hidden) {
  const std::vector<uint32_t> offsets = OffsetsOf(chunk, range, 1);
  const size_t begin = chunk.offsets[range.first];
  return model_.Embed(*transformer_, {offsets}, std::span(chunk.ids).subspan(begin, offsets.back()),
                      std::span(chunk.types).subspan(begin, offsets.back()), hidden);
}

LayerPart LayerRunner::PartOf(uint32_t layer, uint32_t first,
                              std::span<const ShardView> views) const {
  return {views, std::span(slices_).subspan(first, views.size()), model_.resident().layers[layer]};
}

void LayerRunner::Layer(const Batch& batch, uint32_t layer, std::span<const ShardView> views,
                        float* hidden, float* received) {
  const auto width = static_cast<uint32_t>(views.size());
  flops_ += LayerFlops(shape(), SizeOf(batch), width, OutputRows::kAll);
  transformer_->RunLayer({batch, PartOf(layer, 0, views), OutputRows::kAll, received}, hidden);
}

void LayerRunner::Context(const Batch& batch, uint32_t layer, uint32_t first,
                          std::span<const ShardView> views, const float* hidden, OutputRows rows,
                          float* context, float* received) {
  const auto width = static_cast<uint32_t>(views.size());
  flops_ += ContextFlops(shape(), SizeOf(batch), width, rows);
  transformer_->ComputeContext({batch, PartOf(layer, first, views), rows, received}, hidden,
                               context, size_t{width} * shape().head_dim());
}

void LayerRunner::Finish(uint32_t rows, uint32_t layer, std::span<const ShardView> views,
                         std::span<const ContextRef> contexts, float* hidden) {
  flops_ += FinishFlops(shape(), rows, static_cast<uint32_t>(views.size()));
  transformer_->FinishLayer(rows, PartOf(layer, 0, views), contexts, hidden);
}

void LayerRunner::LastLayer(const Batch& batch, uint32_t layer, std::span<const ShardView> views,
                            const float* hidden, float* context, float* wanted, float* received) {
  Context(batch, layer, 0, views, hidden, head_rows(), context, received);
  CopyRows(batch, head_rows(), shape().hidden, hidden, wanted);
  Finish(batch.Count(head_rows()), layer, views, ContextsOf(context, shape(), views.size()),
         wanted);
}

void LayerRunner::Head(const Batch& batch, const float* wanted, float* values) {
  flops_ += HeadFlops(shape(), batch.Count(head_rows()));
  transformer_->Head(batch, wanted, model_.resident().head, values);
}

std::vector<ContextRef> ContextsOf(const float* context, const ModelShape& shape, size_t slices) {
  std::vector<ContextRef> contexts;
  contexts.reserve(slices);
  const size_t head = shape.head_dim();
  for (size_t i = 0; i < slices; ++i) contexts.push_back({context + i * head, slices * head});
  return contexts;
}

}  // namespace sti
