#include "pipeline/core/plan_in_force.h"

#include <algorithm>
#include <set>
#include <utility>

#include "pipeline/routes.h"

namespace sti {

PlanInForce::PlanInForce(const ContainerIndex& index, Plan its_plan, uint64_t clock_khz)
    : plan(std::move(its_plan)) {
  by_length = in_use = RoutesAtClock(plan, clock_khz);
  if (plan.cascade) in_use.clear();
  for (size_t level = 0; level < CascadeLevelsOf(plan); ++level)
    in_use.push_back(CascadeRoute(plan, level));
  routes.reserve(RoutesOf(plan));
  guarantees.resize(RoutesOf(plan));
  for (RouteId id; id.index < RoutesOf(plan); ++id.index) {
    const PlanCore& own = PlanOf(plan, id);
    routes.emplace_back(index, own, id, PlannedReads(plan, id, index.words.row_bytes));
    if (own.fallback) guarantees[id.index].emplace(index, own, id);
  }
  engagement = Engagement(plan, FirstRoute(), [&index](const ShardAtBits& shard) {
    return PreloadBuffer::BytesOf(index, shard);
  });
}

RouteId PlanInForce::RouteFor(size_t tokens) const {
  const auto holds = [&](RouteId id) { return PlanOf(plan, id).most_tokens() >= tokens; };
  const auto shortest = std::find_if(by_length.begin(), by_length.end(), holds);
  return shortest == by_length.end() ? MainRoute() : *shortest;
}

uint32_t PlanInForce::MaxWidth() const {
  uint32_t width = 0;
  for (const RouteId id : in_use) {
    const PlanCore& own = PlanOf(plan, id);
    width = std::max({width, own.width, own.fallback ? own.fallback->width : 0});
  }
  return width;
}

std::vector<uint32_t> PlanInForce::Layers() const {
  std::set<uint32_t> layers;
  for (const RouteId id : in_use) {
    const PlanCore& own = PlanOf(plan, id);
    layers.insert(own.layers.begin(), own.layers.end());
    if (own.fallback) layers.insert(own.fallback->layers.begin(), own.fallback->layers.end());
  }
  return {layers.begin(), layers.end()};
}

Guarantee* PlanInForce::GuaranteeOf(RouteId route) {
  std::optional<Guarantee>& guarantee = guarantees[route.index];
  return guarantee ? &*guarantee : nullptr;
}

}  // namespace sti
