#include "plan/planned_shards.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sti {

std::optional<uint64_t> StoredBytes(const ShardCatalog& catalog, const PreloadedShard& shard) {
  const auto found = std::find(catalog.bits.begin(), catalog.bits.end(), shard.bits);
  if (found == catalog.bits.end() || shard.layer >= catalog.layers || shard.slice >= catalog.width)
    return std::nullopt;
  const size_t row = size_t{shard.layer} * catalog.width + shard.slice;
  return catalog
      .read_bytes[row * catalog.bits.size() + static_cast<size_t>(found - catalog.bits.begin())];
}

std::vector<PlannedShard> ShardsOf(const ShardCatalog& catalog, const DeviceModel& device,
                                   const Plan& plan) {
  std::set<std::pair<uint32_t, uint32_t>> preloaded;
  for (const PreloadedShard& shard : plan.preload) preloaded.emplace(shard.layer, shard.slice);
  std::vector<PlannedShard> shards;
  shards.reserve(plan.layers.size() * plan.width);
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (size_t i = 0; i < plan.slices[k].size(); ++i) {
      const PreloadedShard name{plan.layers[k], plan.slices[k][i], plan.bits[k][i]};
      const uint64_t bytes = StoredBytes(catalog, name).value_or(0);
      shards.push_back({{k, bytes, device.LoadUs(name.bits, bytes).value_or(0)},
                        name,
                        preloaded.contains({name.layer, name.slice})});
    }
  }
  return shards;
}

}  // namespace sti
