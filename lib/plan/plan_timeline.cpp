#include "plan/plan_timeline.h"

#include <algorithm>

#include "plan/cold.h"
#include "plan/evaluation.h"
#include "plan/planned_run.h"

namespace sti {
namespace {

/// Names of the shards that a plan reads, in layer order.
std::vector<ShardAtBits> NamesOf(const PlanInput& input, const DeviceModel& device,
                                 const Plan& plan) {
  std::vector<ShardAtBits> names;
  for (const PlannedShard& planned : ShardsOf(input.catalog, device, plan)) {
    if (!planned.preloaded) names.push_back(planned.name);
  }
  return names;
}

PlanEvent Named(const WorkSpan& span, const Plan& plan, const std::vector<ShardAtBits>& names) {
  PlanEvent event{span.work, {}, span.start_us, span.end_us};
  const bool of_layer = span.work == Work::kLayer || span.work == Work::kPart;
  if (of_layer && span.index < plan.layers.size()) event.shard.id.layer = plan.layers[span.index];
  if (span.work == Work::kLoad) event.shard = names[span.index];
  return event;
}

/// The first of a cold start's events becomes two.
void SplitOpening(double open_us, PlanTimeline* timeline) {
  if (open_us <= 0) return;
  timeline->events.front().start_us = open_us;
  timeline->events.insert(timeline->events.begin(), {Work::kOpen, {}, 0, open_us});
}

}  // namespace

Result<PlanTimeline> PlayPlan(const PlanInput& input, const PlanRequest& request, const Plan& plan,
                              Risk risk) {
  STI_ASSIGN_OR_RETURN(const PlanCheck check, CheckPlan(input, request, plan));
  STI_ASSIGN_OR_RETURN(const DeviceModels devices,
                       DeviceModels::Make(input.profile, plan.length, request.judging.risk,
                                          {plan.freq, request.judging.interpolate}));
  const DeviceModel& device = risk == Risk::kP99 ? devices.p99 : devices.median;
  const PlannedRun run = RunOf(input, device, plan);
  std::optional<uint64_t> staging;
  if (check.fits_memory) staging = check.staging_bytes;
  std::vector<WorkSpan> spans;
  PlanTimeline timeline;
  timeline.latency_us = LatencyOf(run, staging, &spans);
  timeline.wake_us = run.wake_us;
  const double start_us = plan.cold ? input.profile.start_us : 0;
  const std::vector<ShardAtBits> names = NamesOf(input, device, plan);
  timeline.events.reserve(spans.size() + 1);
  for (const WorkSpan& span : spans) timeline.events.push_back(Named(span, plan, names));
  if (plan.cold)
    SplitOpening(start_us + ColdTimesOf(input, device, plan.layers).open_io_us, &timeline);
  timeline.stall_us = StallOf(run, start_us, timeline.latency_us);
  return timeline;
}

}  // namespace sti
