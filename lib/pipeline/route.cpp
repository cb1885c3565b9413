#include "pipeline/route.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sti {

Result<Route> Route::Create(const ContainerIndex& index, const Plan& plan, uint64_t staging_bytes) {
  Route route(plan);
  std::set<std::pair<uint32_t, uint32_t>> preloaded;
  for (const PreloadedShard& shard : plan.preload) preloaded.emplace(shard.layer, shard.slice);
  std::vector<ShardRequest> requests;
  requests.reserve(plan.layers.size() * plan.width - plan.preload.size());
  route.views_.resize(plan.layers.size());
  route.streamed_.resize(plan.layers.size());
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    route.views_[k].resize(plan.width);
    for (uint32_t i = 0; i < plan.width; ++i) {
      if (preloaded.contains({plan.layers[k], plan.slices[k][i]})) continue;
      route.streamed_[k].push_back({i, requests.size()});
      requests.push_back({plan.layers[k], plan.slices[k][i], plan.bits[k][i], k});
    }
  }
  STI_ASSIGN_OR_RETURN(route.schedule_, BuildLoadSchedule(index, requests, staging_bytes));
  return route;
}

Status Route::Bind(const ContainerIndex& index, const PreloadBuffer& preload,
                   const std::string& file) {
  for (const PreloadedShard& shard : plan_->preload) {
    const auto layer = std::lower_bound(plan_->layers.begin(), plan_->layers.end(), shard.layer);
    const auto k = static_cast<size_t>(layer - plan_->layers.begin());
    const auto& slices = plan_->slices[k];
    const auto at = std::find(slices.begin(), slices.end(), shard.slice) - slices.begin();
    STI_ASSIGN_OR_RETURN(views_[k][static_cast<size_t>(at)], preload.View(index, shard, file));
  }
  return {};
}

Result<std::span<const ShardView>> Route::ViewLayer(const ContainerIndex& index, uint32_t k,
                                                    std::span<const uint8_t> arena,
                                                    const std::string& file) {
  for (const Streamed& streamed : streamed_[k]) {
    STI_ASSIGN_OR_RETURN(views_[k][streamed.position],
                         ViewStagedShard(index, schedule_, streamed.request, arena, file));
  }
  return std::span<const ShardView>(views_[k]);
}

}  // namespace sti
