#include "model/loaded_model.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "model/embedding_rows.h"
#include "network/tensors.h"

namespace sti {

Result<LoadedModel> LoadedModel::Load(ContainerFile file, std::span<const uint32_t> bits,
                                      LoadedExtent extent) {
  if (!extent.held_ones) STI_RETURN_IF_ERROR(file.RequireWhole());
  LoadedModel model(std::move(file));
  const ModelShape& shape = model.index().info.shape;
  const auto up_to = [](uint32_t asked, uint32_t most) {
    return asked == 0 ? most : std::min(asked, most);
  };
  model.extent_ = {up_to(extent.layers, shape.layers), up_to(extent.width, shape.width),
                   extent.held_ones};
  const StageExtent stage = model.index().stage.value_or(StageExtent{0, shape.layers, {}});
  std::vector<uint32_t> layers(stage.end - stage.begin);
  std::iota(layers.begin(), layers.end(), stage.begin);
  STI_ASSIGN_OR_RETURN(model.resident_, LoadResidentModel(model.file_, layers));
  for (uint32_t k : bits) STI_RETURN_IF_ERROR(model.LoadBits(k));
  return model;
}

Status LoadedModel::LoadBits(uint32_t bits) {
  std::vector<ShardRequest> requests;
  std::vector<uint32_t> layers = index().WholeLayersAt(bits);
  layers.resize(std::min<size_t>(layers.size(), extent_.layers));
  for (const uint32_t layer : layers) {
    for (uint32_t slice = 0; slice < extent_.width; ++slice) {
      requests.push_back({{layer, slice}, bits, layer});
    }
  }
  STI_ASSIGN_OR_RETURN(LoadSchedule schedule, BuildLoadSchedule(index(), requests));
  AtBits loaded{bits, std::move(layers), AlignedBuffer(schedule.arena_bytes), {}};
  std::span<const ScheduledRead> reads(schedule.reads);
  STI_RETURN_IF_ERROR(file_.reader().ReadAll(RequestsFor(reads, loaded.arena.span())));
  for (const ScheduledPart& part : schedule.parts)
    STI_RETURN_IF_ERROR(CheckScheduledPart(schedule, part, loaded.arena.span(), file_.name()));
  for (size_t r = 0; r < requests.size(); ++r) {
    STI_ASSIGN_OR_RETURN(ShardView view,
                         ViewScheduledShard(index(), schedule, r, schedule.requests[r].bits, {},
                                            {loaded.arena.span(), {}}, file_.name()));
    loaded.views.push_back(view);
  }
  loaded_.push_back(std::move(loaded));
  return {};
}

const LoadedModel::AtBits& LoadedModel::At(uint32_t bits) const {
  return *std::ranges::find(loaded_, bits, &AtBits::bits);
}

const ShardView& LoadedModel::View(uint32_t layer, uint32_t slice, uint32_t bits) const {
  const AtBits& at = At(bits);
  const auto place = std::ranges::lower_bound(at.layers, layer) - at.layers.begin();
  return at.views[static_cast<size_t>(place) * extent_.width + slice];
}

Status LoadedModel::Embed(Transformer& transformer, const Batch& batch,
                          std::span<const uint32_t> ids, std::span<const uint32_t> types,
                          float* hidden) {
  EmbeddingReads reads = PlanEmbeddingReads(index(), ids, batch.longest());
  AlignedBuffer blocks(reads.end);
  std::span<const EmbeddingReads::Range> ranges(reads.ranges);
  STI_RETURN_IF_ERROR(file_.reader().ReadAll(RequestsFor(ranges, blocks.span())));
  const size_t width = index().info.shape.embedding_width();
  float* const sums = transformer.EmbeddingSums(batch.tokens(), hidden);
  for (uint32_t s = 0; s < batch.sequences(); ++s) {
    uint32_t first = batch.offsets[s];
    uint32_t count = batch.offsets[s + 1] - first;
    STI_RETURN_IF_ERROR(SumEmbeddings(index(), reads, blocks.span(),
                                      {ids.subspan(first, count), types.subspan(first, count),
                                       resident_.embedding[TensorRole::kTypeEmbeddings]},
                                      file_.name(), sums + first * width));
  }
  transformer.FinishEmbeddings(hidden, batch.tokens(), resident_.embedding);
  return {};
}

}  // namespace sti
