#include "plan/play/turn_reads.h"

#include <algorithm>
#include <set>

#include "plan/play/shard_costs.h"

namespace sti {

TurnReads ReadsOf(const CheckedInput& input, const DeviceModel& device, const Plan& plan,
                  const PlanTurn& turn) {
  // The device has load times, or there would be no plan.
  const ShardCosts all = *ShardCosts::Make(input->catalog, device);
  const ShardCosts missing = all.Holding(turn.preload, input->catalog.block_bytes, device);
  TurnReads turn_reads;
  turn_reads.reads.reserve(plan.layers.size() * plan.width);
  turn_reads.all_io_us.resize(plan.layers.size());
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const size_t level = all.LevelOf(turn.bits.At(k, i)).value_or(0);
      const ShardAtBits shard{plan.Id(k, i), turn.bits.At(k, i)};
      turn_reads.all_io_us[k] += all.load_us(shard.id, level);
      const uint64_t bytes = missing.bytes(shard.id, level);
      if (bytes != 0)
        turn_reads.reads.push_back({k, bytes, missing.load_us(shard.id, level), shard});
    }
  }
  return turn_reads;
}

uint64_t OverhangOf(const CheckedInput& input, const DeviceModel& device, const Plan& plan,
                    const PlanTurn& turn, const PlanTurn* next) {
  std::set<ShardId> stays;
  for (const ShardAtBits& shard : turn.preload) stays.insert(shard.id);
  if (next != nullptr) {
    for (const ShardAtBits& shard : next->preload) stays.insert(shard.id);
  }
  uint64_t overhang = 0;
  for (const StreamedShard& read : ReadsOf(input, device, plan, turn).reads) {
    if (stays.contains(read.shard.id)) overhang += read.bytes;
  }
  return overhang;
}

uint64_t TurnOverhang(const CheckedInput& input, const DeviceModel& device, const Plan& plan) {
  uint64_t most = 0;
  for (size_t t = 1; t < plan.turns.size(); ++t) {
    const PlanTurn* next = t + 1 < plan.turns.size() ? &plan.turns[t + 1] : nullptr;
    most = std::max(most, OverhangOf(input, device, plan, plan.turns[t], next));
  }
  return most;
}

}  // namespace sti
