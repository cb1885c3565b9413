// Tells what one of several turns reads, and the memory that its reads take beyond the buffer
// between turns.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/device_model.h"
#include "plan/request.h"
#include "types/plan.h"
#include "types/shard_id.h"

namespace sti {

/// A read of one shard: the whole of one that is not in memory, or the missing planes of one that
/// is.
struct TurnRead {
  uint32_t position = 0;  ///< index of its layer in the plan
  ShardId id;
  uint64_t bytes = 0;
  double load_us = 0;
};

/// Holds all reads of one turn.
struct TurnReads {
  std::vector<TurnRead> reads;    ///< in layer order
  std::vector<double> all_io_us;  ///< [n] IO of each layer if nothing were in memory
};

/// Returns the reads of a turn of a plan that FindPlanFault accepts. The device knows its times.
TurnReads ReadsOf(const CheckedInput& input, const DeviceModel& device, const Plan& plan,
                  const PlanTurn& turn);

/// Returns the bytes that a turn reads of shards that it held before, or keeps for `next` if there
/// is one. They go to where these shards are held, not through staging.
uint64_t OverhangOf(const CheckedInput& input, const DeviceModel& device, const Plan& plan,
                    const PlanTurn& turn, const PlanTurn* next);

/// Returns the most that any turn needs beyond the buffer between turns. The first needs nothing:
/// what it keeps is what the second holds, and the buffer has that size. In later ones shards that
/// will be dropped stay until they are computed while planes of others arrive, so both count.
uint64_t TurnOverhang(const CheckedInput& input, const DeviceModel& device, const Plan& plan);

}  // namespace sti
