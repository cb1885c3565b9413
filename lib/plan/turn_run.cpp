#include "plan/turn_run.h"

#include <algorithm>
#include <set>
#include <utility>

#include "plan/cold.h"
#include "plan/shard_costs.h"

namespace sti {
namespace {

/// Calls `read` for each shard that the turn reads, with its layer's position, its id, bytes and
/// load time.
template <typename Read>
void ForEachRead(const PlanInput& input, const DeviceModel& device, const Plan& plan,
                 const PlanTurn& turn, const Read& read) {
  // The catalog is valid and the device has load times, or there would be no plan.
  const ShardCosts costs = ShardCosts::Make(input.catalog, device)
                               ->Holding(turn.preload, input.catalog.block_bytes, device);
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const size_t level = costs.LevelOf(turn.bits.At(k, i)).value_or(0);
      const ShardId id = plan.Id(k, i);
      const uint64_t bytes = costs.bytes(id, level);
      if (bytes == 0) continue;
      read(k, id, bytes, costs.load_us(id, level));
    }
  }
}

}  // namespace

PlannedRun TurnRunOf(const PlanInput& input, const DeviceModel& device, const Plan& plan,
                     const PlanTurn& turn) {
  PlannedRun run;
  run.lane = LaneOf(input, device, plan.layers, plan.width, false);
  run.wake_us = plan.wake_us;
  run.streamed.reserve(plan.layers.size() * plan.width);
  ForEachRead(input, device, plan, turn, [&](uint32_t k, ShardId, uint64_t bytes, double load_us) {
    run.streamed.push_back({k, bytes, load_us});
  });
  return run;
}

uint64_t OverhangOf(const PlanInput& input, const DeviceModel& device, const Plan& plan,
                    const PlanTurn& turn, const PlanTurn* next) {
  std::set<ShardId> stays;
  for (const ShardAtBits& shard : turn.preload) stays.insert(shard.id);
  if (next != nullptr) {
    for (const ShardAtBits& shard : next->preload) stays.insert(shard.id);
  }
  uint64_t overhang = 0;
  ForEachRead(input, device, plan, turn, [&](uint32_t, ShardId id, uint64_t bytes, double) {
    if (stays.contains(id)) overhang += bytes;
  });
  return overhang;
}

uint64_t TurnOverhang(const PlanInput& input, const DeviceModel& device, const Plan& plan) {
  uint64_t most = 0;
  for (size_t t = 1; t < plan.turns.size(); ++t) {
    const PlanTurn* next = t + 1 < plan.turns.size() ? &plan.turns[t + 1] : nullptr;
    most = std::max(most, OverhangOf(input, device, plan, plan.turns[t], next));
  }
  return most;
}

}  // namespace sti
