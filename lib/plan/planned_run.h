// One run under a plan on a device, ready to be played: what it reads and computes, its latency,
// and the staging that it needs.
//
// Staging is the arena of shards that are read and not yet computed. Where it is full the IO lane
// waits, so the least that delays nothing is found by playing the run (plan/lanes.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/device_model.h"
#include "plan/lanes.h"
#include "plan/request.h"
#include "types/plan.h"

namespace sti {

/// Holds what one run reads and computes, as the lanes play it.
struct PlannedRun {
  ComputeLane lane;
  std::vector<StreamedShard> streamed;
  double wake_us = 0;
  bool serial = false;            ///< all IO before all compute
  AgentRates agents;              ///< that read its layers; none: reads go layer by layer
  std::vector<double> all_io_us;  ///< [n] IO of each layer if nothing were in memory
  double bonus_us = 0;            ///< IO time that is saved by what is in memory
  uint64_t all_bytes = 0;         ///< bytes of the shards that it computes with; 0 for a turn
  uint64_t held_bytes = 0;        ///< bytes of the preloaded shards; 0 for a turn

  /// Returns [n] the IO of each layer that the run reads.
  [[nodiscard]] std::vector<double> StreamedIo() const;
};

/// Returns a run under the plan, or its run in one of the plan's turns. FindPlanFault finds no
/// fault in the plan; shards whose times the device does not know cost 0.
PlannedRun RunOf(const CheckedInput& input, const DeviceModel& device, const PlanCore& plan,
                 const PlanTurn* turn = nullptr);

/// Returns the microseconds from the start of the input to its label, infinite if staging can never
/// hold a layer. Without `staging_bytes`, staging has no limit. `spans`, where given, receives what
/// was played.
double LatencyOf(const PlannedRun& run, std::optional<uint64_t> staging_bytes,
                 std::vector<LaneSpan>* spans = nullptr);

/// Returns how long the compute lane waits for IO in a run that takes `latency_us`. A cold start's
/// own work of `start_us` is no waiting.
double StallOf(const PlannedRun& run, double start_us, double latency_us);

/// Returns what real runs of the plan are compared with, by medians. `run` is the plan's at the
/// median, and takes `latency_us`.
PlanTimes TimesOf(const CheckedInput& input, const DeviceModels& devices, const PlanCore& plan,
                  const PlannedRun& run, double latency_us);

/// Holds the bytes of staging that latencies count on, and whether memory has room for a run.
struct Staging {
  uint64_t bytes = 0;
  bool fits = true;
};

/// Holds the bytes of staging that runs of a plan cannot do without, and those that delay none of
/// them.
struct StagingNeed {
  uint64_t least = 0;
  uint64_t enough = 0;

  void Include(const StagingNeed& other);
  /// Returns the staging of runs beside which `held_bytes` of `memory_bytes` are held: the
  /// `said_bytes` of a plan that says them, else enough, or what the memory leaves. Where that is
  /// less than the least, it is the least, and does not fit. Memory may be unbounded.
  [[nodiscard]] Staging Within(std::optional<uint64_t> said_bytes, uint64_t held_bytes,
                               std::optional<uint64_t> memory_bytes) const;
};

/// Returns the need of runs of one plan at several risks, which stream equal bytes. `enough` is
/// the smallest staging in whole blocks that slows no run, plus `read_bytes` of the profile times
/// its reads in flight, or the largest shard: a real ring can lose one read at its end, and
/// reserves the place of every read in flight. Never more than all that is streamed.
StagingNeed StagingOf(std::span<const PlannedRun> runs, const DeviceProfile& profile);

/// Holds all reads of one turn: whole shards that are not in memory, and the missing planes of
/// those that are.
struct TurnReads {
  std::vector<StreamedShard> reads;  ///< in layer order
  std::vector<double> all_io_us;     ///< [n] IO of each layer if nothing were in memory
};

/// Returns the reads of a turn of a plan that FindPlanFault accepts. The device knows its times.
TurnReads ReadsOf(const CheckedInput& input, const DeviceModel& device, const PlanCore& plan,
                  const PlanTurn& turn);

/// Returns the bytes that a turn reads of shards that it held before, or keeps for `next` if there
/// is one. They go to where these shards are held, not through staging.
uint64_t OverhangOf(const CheckedInput& input, const DeviceModel& device, const PlanCore& plan,
                    const PlanTurn& turn, const PlanTurn* next);

/// Returns the most that any turn needs beyond the buffer between turns. The first needs nothing:
/// what it keeps is what the second holds, and the buffer has that size. In later ones shards that
/// will be dropped stay until they are computed while planes of others arrive, so both count.
uint64_t TurnOverhang(const CheckedInput& input, const DeviceModel& device, const Plan& plan);

}  // namespace sti
