#include "pipeline/routes.h"

#include <limits>
#include <map>

#include "pipeline/pass.h"
#include "shard/parts.h"
#include "types/bits.h"

namespace sti {
namespace {

// Planned for this clock or a slower one comes before planned for a faster one.
bool Suits(const PlanCore& a, const PlanCore& b, uint64_t clock_khz) {
  const bool a_keeps_up = a.freq <= clock_khz;
  const bool b_keeps_up = b.freq <= clock_khz;
  if (a_keeps_up != b_keeps_up) return a_keeps_up;
  return a_keeps_up ? a.freq > b.freq : a.freq < b.freq;
}

/// The parts of shards that some levels run.
using Uses = std::map<ShardId, PartSet>;

void AddUses(const PlanCore& plan, Uses* uses) {
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      PartSet& parts = (*uses)[plan.Id(k, i)];
      parts = parts.With(PartSet::For(plan.bits.At(k, i)));
    }
  }
}

}  // namespace

std::vector<RouteId> RoutesAtClock(const Plan& plan, uint64_t clock_khz) {
  const uint64_t clock = clock_khz != 0 ? clock_khz : std::numeric_limits<uint64_t>::max();
  std::map<uint32_t, RouteId> by_length{{plan.most_tokens(), RouteId{}}};
  for (RouteId id{1}; id.index <= plan.variants.size(); ++id.index) {
    const PlanCore& variant = PlanOf(plan, id);
    RouteId& chosen = by_length.emplace(variant.most_tokens(), id).first->second;
    if (Suits(variant, PlanOf(plan, chosen), clock)) chosen = id;
  }
  std::vector<RouteId> routes;
  routes.reserve(by_length.size());
  for (const auto& [length, chosen] : by_length) routes.push_back(chosen);
  return routes;
}

std::vector<ShardAtBits> HandedOn(const Plan& plan, size_t level) {
  Uses before;
  Uses behind;
  for (size_t i = 0; i < CascadeLevelsOf(plan); ++i)
    AddUses(PlanOf(plan, CascadeRoute(plan, i)), i <= level ? &before : &behind);
  std::vector<ShardAtBits> shards;
  for (const auto& [id, parts] : before) {
    const auto later = behind.find(id);
    if (later == behind.end()) continue;
    const PartSet both = parts.Within(later->second);
    if (const uint32_t planes = both.UsableBits(kMostBits)) shards.push_back({id, planes});
    if (both.Has(PartKind::kFull)) shards.push_back({id, kFullBits});
  }
  return shards;
}

uint64_t PlannedReads(const Plan& plan, RouteId route, uint64_t row_bytes) {
  const uint64_t rows = plan.words.size() * row_bytes;
  if (route.index == 0) return StreamedBytes(plan, rows);
  if (!plan.cascade) return StreamedBytes(PlanOf(plan, route), 0);
  const size_t level = CascadeLevelOf(plan, route);
  if (level > 0) return plan.cascade->levels[level - 1].upgrade_bytes;
  return StreamedBytes(PlanOf(plan, route), rows);
}

}  // namespace sti
