#include "format/part_selection.h"

#include <set>

#include "types/bits.h"

namespace sti {
namespace {

/// Calls `visit` for each shard that the plan, a turn, a variant or a cascade level of it computes
/// with or keeps.
template <typename Visit>
void ForEachShard(const Plan& plan, const Visit& visit) {
  const auto visit_rows = [&](const Grid<uint32_t>& bits) {
    for (uint32_t k = 0; k < plan.layers.size(); ++k) {
      for (uint32_t i = 0; i < plan.width; ++i) visit(ShardAtBits{plan.Id(k, i), bits.At(k, i)});
    }
  };
  visit_rows(plan.bits);
  for (const PlanTurn& turn : plan.turns) {
    visit_rows(turn.bits);
    // A turn may keep shards at fewer bits than any turn computes with.
    for (const ShardAtBits& shard : turn.preload) visit(shard);
  }
  if (plan.fallback) {
    for (const ShardAtBits& shard : ShardsOf(*plan.fallback)) visit(shard);
  }
  for (const Plan& variant : plan.variants) ForEachShard(variant, visit);
  if (!plan.cascade) return;
  for (const CascadeLevel& level : plan.cascade->levels) ForEachShard(level.plan, visit);
}

}  // namespace

PartSelection SelectAll(const ModelShape& shape, std::span<const uint32_t> bits) {
  PartSet parts;
  for (uint32_t k : bits) parts = parts.With(PartSet::For(k));
  return PartSelection(size_t{shape.layers} * shape.width, parts);
}

PartSelection SelectForPlans(const ModelShape& shape, std::span<const Plan> plans) {
  PartSelection selection(size_t{shape.layers} * shape.width);
  for (const Plan& plan : plans) {
    ForEachShard(plan, [&](const ShardAtBits& shard) {
      PartSet& parts = selection[size_t{shard.id.layer} * shape.width + shard.id.slice];
      parts = parts.With(PartSet::For(shard.bits));
    });
  }
  return selection;
}

std::vector<uint32_t> BitsOfPlans(std::span<const Plan> plans) {
  std::set<uint32_t> bits;
  for (const Plan& plan : plans)
    ForEachShard(plan, [&](const ShardAtBits& shard) { bits.insert(shard.bits); });
  return {bits.begin(), bits.end()};
}

}  // namespace sti
