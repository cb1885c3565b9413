#include "types/plan.h"

#include <set>

namespace sti {

std::vector<ShardAtBits> FallbackShards(const Plan& plan) {
  std::vector<ShardAtBits> shards;
  std::set<ShardId> known;
  for (const ShardAtBits& shard : plan.preload) known.insert(shard.id);
  const auto add = [&](const Plan& one) {
    if (!one.fallback) return;
    for (const ShardAtBits& shard : ShardsOf(*one.fallback)) {
      if (known.insert(shard.id).second) shards.push_back(shard);
    }
  };
  add(plan);
  for (const Plan& variant : plan.variants) add(variant);
  return shards;
}

}  // namespace sti
