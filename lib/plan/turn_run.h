// What one of several turns reads, and the memory that takes beyond the buffer between turns.
#pragma once

#include <cstdint>

#include "plan/planned_run.h"

namespace sti {

/// The turn's reads, in order: the whole of what is not in memory, the missing planes of what is.
/// The plan belongs to the model and the device knows its times.
PlannedRun TurnRunOf(const PlanInput& input, const DeviceModel& device, const Plan& plan,
                     const PlanTurn& turn);

/// Bytes that a turn reads of shards that it held before, or keeps for `next` if there is one. They
/// go to where these shards are held, not through staging.
uint64_t OverhangOf(const PlanInput& input, const DeviceModel& device, const Plan& plan,
                    const PlanTurn& turn, const PlanTurn* next);

/// The most that any turn needs beyond the buffer between turns. The first needs nothing: what it
/// keeps is what the second holds, and the buffer has that size. In later ones shards that will be
/// dropped stay until they are computed while planes of others arrive, so both count.
uint64_t TurnOverhang(const PlanInput& input, const DeviceModel& device, const Plan& plan);

}  // namespace sti
