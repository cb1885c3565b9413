// A timeline says what a plan does when, for pictures of it: it is the play of its two lanes, with
// names.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "plan/lanes.h"
#include "plan/request.h"
#include "types/plan.h"
#include "types/shard_id.h"

namespace sti {

/// A LaneSpan with its names.
struct PlanEvent {
  LaneSpan::Kind kind = LaneSpan::Kind::kRows;
  /// The shard of a load; the layer alone of a layer, and of a layer's resident part; all 0 for
  /// other events.
  ShardAtBits shard;
  double start_us = 0;
  double end_us = 0;
};

/// Holds the events of one run under a plan.
struct PlanTimeline {
  std::vector<PlanEvent> events;  ///< each lane's in order of time
  /// When each level of a cascade begins, the first at 0; empty without a cascade.
  std::vector<double> level_start_us;
  double latency_us = 0;  ///< when the last compute event ends
  double wake_us = 0;     ///< the IO lane starts this much before 0
  double stall_us = 0;    ///< compute lane waiting for IO, embedding rows included
};

/// Plays a plan (its first turn, its own length) with the profile's times at `risk`: with medians
/// `latency_us` is the plan's predicted_latency_us. A plan with a cascade is played through all its
/// levels: with medians `latency_us` is the last of the cascade's path_us. Errors are those of
/// CheckPlan. Shards that are in memory have no event. Thread-safe.
Result<PlanTimeline> PlayPlan(const PlanInput& input, const Judging& judging, const Plan& plan,
                              Risk risk = Risk::kMedian);

}  // namespace sti
