#include "pipeline/cascade_shards.h"

#include <algorithm>
#include <map>

#include "pipeline/pass.h"
#include "types/bits.h"

namespace sti {
namespace {

/// The bits at which some levels run one shard.
struct Use {
  uint32_t planes = 0;  ///< the most bits by planes; 0: none
  bool full = false;
};

using Uses = std::map<ShardId, Use>;

void AddUses(const Plan& plan, Uses* uses) {
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      Use& use = (*uses)[plan.Id(k, i)];
      const uint32_t bits = plan.bits.At(k, i);
      if (bits == kFullBits) {
        use.full = true;
      } else {
        use.planes = std::max(use.planes, bits);
      }
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
  for (const auto& [id, use] : before) {
    const auto later = behind.find(id);
    if (later == behind.end()) continue;
    const uint32_t planes = std::min(use.planes, later->second.planes);
    if (planes > 0) shards.push_back({id, planes});
    if (use.full && later->second.full) shards.push_back({id, kFullBits});
  }
  return shards;
}

uint64_t PlannedReads(const Plan& plan, size_t level, uint64_t row_bytes) {
  const std::vector<CascadeLevel>& levels = plan.cascade->levels;
  if (level > 0) return levels[level - 1].upgrade_bytes;
  const Plan& first = levels.front().plan;
  const uint64_t rows = std::min(first.preload_bytes, plan.words.size() * row_bytes);
  const uint64_t held = first.preload_bytes - rows;
  return first.parameter_bytes - std::min(first.parameter_bytes, held);
}

}  // namespace sti
