// One run under a plan on a device, ready to be played: latency, times, and the staging it needs.
//
// Staging is the arena of shards that are read and not yet computed. Where it is full the IO lane
// waits, so the least that delays nothing is found by playing the run (timeline.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/evaluation.h"
#include "plan/planned_shards.h"
#include "plan/timeline.h"
#include "types/plan.h"

namespace sti {

struct PlannedRun {
  ComputeLane lane;
  std::vector<StreamedShard> streamed;
  double wake_us = 0;
  bool serial = false;  ///< all IO before all compute
};

/// The plan's first turn. The plan is well-formed, and the device knows its times.
PlannedRun RunOf(const PlanInput& input, const DeviceModel& device, const Plan& plan);

/// Microseconds; infinite if staging can never hold a layer. No limit to staging where it is
/// absent.
double LatencyOf(const PlannedRun& run, std::optional<uint64_t> staging_bytes,
                 std::vector<WorkSpan>* spans = nullptr);

/// The compute lane's waiting for IO in a run that takes `latency_us`. A cold start's own work is
/// work.
double StallOf(const PlannedRun& run, double start_us, double latency_us);

/// Staging of a plan's runs: what they cannot do without, and what delays none of them.
struct StagingNeed {
  uint64_t least = 0;
  uint64_t enough = 0;

  void Include(const StagingNeed& other);
};

/// Returns the staging of runs of one plan at several risks, which stream the same bytes. `enough`
/// is the smallest staging in whole blocks that slows no run, plus `read_bytes` times `read_depth`:
/// a real ring can lose one read at its end, and reserves the place of every read in flight. It is
/// never more than all that is streamed.
StagingNeed StagingOf(std::span<const PlannedRun> runs, const DeviceProfile& profile);

}  // namespace sti
