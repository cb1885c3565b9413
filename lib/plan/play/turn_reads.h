// Tells what one of several turns reads, and the memory that its reads take beyond the buffer
// between turns.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/device_model.h"
#include "plan/play/lanes.h"
#include "plan/request.h"
#include "types/plan.h"

namespace sti {

/// Holds all reads of one turn: whole shards that are not in memory, and the missing planes of
/// those that are.
struct TurnReads {
  std::vector<StreamedShard> reads;  ///< in layer order
  std::vector<double> all_io_us;     ///< [n] IO of each layer if nothing were in memory
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
