// What a plan does when, for pictures of it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "plan/request.h"
#include "plan/timeline.h"
#include "types/plan.h"

namespace sti {

/// A WorkSpan with its names. A load names its shard; a layer, and the part of one, its layer
/// alone, which is 0 for the part of the head.
struct PlanEvent {
  Work work = Work::kRows;
  ShardAtBits shard;
  double start_us = 0;
  double end_us = 0;
};

struct PlanTimeline {
  std::vector<PlanEvent> events;  ///< each lane's in order of time
  double latency_us = 0;          ///< when the last compute event ends
  double wake_us = 0;             ///< the IO lane starts this much before 0
  double stall_us = 0;            ///< compute lane waiting for IO, embedding rows included
};

/// Plays a plan (its first turn, its own length) with the profile's times at `risk`. With medians
/// `latency_us` is the plan's predicted_latency_us. The request's memory counts, as in CheckPlan,
/// and errors are those of CheckPlan. Preloaded shards have no event. Thread-safe.
Result<PlanTimeline> PlayPlan(const PlanInput& input, const PlanRequest& request, const Plan& plan,
                              Risk risk = Risk::kMedian);

}  // namespace sti
