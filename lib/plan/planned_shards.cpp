#include "plan/planned_shards.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sti {

std::vector<PlannedShard> ShardsOf(const ShardCatalog& catalog, const DeviceModel& device,
                                   const Plan& plan) {
  std::set<ShardId> preloaded;
  for (const ShardAtBits& shard : plan.preload) preloaded.insert(shard.id);
  std::vector<PlannedShard> shards;
  shards.reserve(plan.layers.size() * plan.width);
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const ShardAtBits name{plan.Id(k, i), plan.bits.At(k, i)};
      const uint64_t bytes = catalog.BytesOf(name).value_or(0);
      shards.push_back({{k, bytes, device.LoadUs(name.bits, bytes).value_or(0)},
                        name,
                        preloaded.contains(name.id)});
    }
  }
  return shards;
}

}  // namespace sti
