#include "pipeline/cascade_shards.h"

#include <map>

#include "pipeline/pass.h"
#include "shard/parts.h"
#include "types/bits.h"

namespace sti {
namespace {

/// The parts of shards that some levels run.
using Uses = std::map<ShardId, PartSet>;

void AddUses(const Plan& plan, Uses* uses) {
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      PartSet& parts = (*uses)[plan.Id(k, i)];
      parts = parts.With(PartSet::For(plan.bits.At(k, i)));
    }
  }
}

}  // namespace

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

uint64_t PlannedReads(const Plan& plan, size_t level, uint64_t row_bytes) {
  const std::vector<CascadeLevel>& levels = plan.cascade->levels;
  if (level > 0) return levels[level - 1].upgrade_bytes;
  return StreamedBytes(levels.front().plan, plan.words.size() * row_bytes);
}

}  // namespace sti
