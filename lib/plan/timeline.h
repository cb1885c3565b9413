// A timeline says what a run under a plan does when, for pictures of it: the spans of the IO lane
// and of the compute lane (plan/lanes.h), each with the shard or the layer that it is about.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "plan/lanes.h"
#include "plan/planned_run.h"
#include "plan/request.h"
#include "types/plan.h"
#include "types/shard_id.h"

namespace sti {

/// A LaneSpan whose index has become a shard or a layer of the model. Times are counted from the
/// moment at which the text is there; in a cold start, at which the process starts.
struct PlanEvent {
  LaneSpan::Kind kind = LaneSpan::Kind::kRows;
  /// A load has its shard and bits. The compute of a layer, and the read of its resident part, have
  /// its original index in `shard.id.layer`, else 0. Other events have 0 throughout.
  ShardAtBits shard;
  double start_us = 0;
  double end_us = 0;
  uint32_t agent = 0;  ///< that reads, of a plan with several
};

/// Holds the events of one run under a plan.
struct PlanTimeline {
  std::vector<PlanEvent> events;  ///< those of one lane are in order of time
  /// When each level of a cascade begins, the first at 0; empty without a cascade.
  std::vector<double> level_start_us;
  double latency_us = 0;  ///< when the last compute event ends
  double wake_us = 0;     ///< lead time: the IO lane starts this much before 0
  double stall_us = 0;    ///< compute lane waiting for IO, embedding rows included
};

/// Returns the timeline of one run under a plan with the profile's times at `risk`. The run is the
/// first turn of an engagement, and its text has the plan's own length, not a variant's. With
/// medians, `latency_us` is the plan's predicted_latency_us. Under a plan with a cascade the run
/// goes through all levels, and `latency_us` is the last of the cascade's path_us. Shards that are
/// in memory have no event. `judging` is what the plan was made with; errors are those of
/// CheckPlan. Thread-safe.
Result<PlanTimeline> PlayPlan(const PlanInput& input, const Judging& judging, const Plan& plan,
                              Risk risk = Risk::kMedian);

/// Returns the timeline of a run that RunOf has made of a plan without a cascade, warm, with so
/// much staging; nothing: as much as it likes.
PlanTimeline TimelineOf(const PlanCore& plan, const PlannedRun& run,
                        std::optional<uint64_t> staging_bytes);

}  // namespace sti
