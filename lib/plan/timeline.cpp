#include "plan/timeline.h"

#include <optional>
#include <set>

#include "plan/judge.h"
#include "plan/play/cold.h"
#include "plan/play/planned_run.h"

namespace sti {
namespace {

/// Returns the shards that a plan reads, in layer order.
std::vector<ShardAtBits> StreamedBy(const Plan& plan) {
  const std::set<ShardAtBits> preloaded(plan.preload.begin(), plan.preload.end());
  std::vector<ShardAtBits> streamed;
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const ShardAtBits shard{plan.Id(k, i), plan.bits.At(k, i)};
      if (!preloaded.contains(shard)) streamed.push_back(shard);
    }
  }
  return streamed;
}

PlanEvent Named(const LaneSpan& span, const Plan& plan, const std::vector<ShardAtBits>& streamed) {
  using Kind = LaneSpan::Kind;
  PlanEvent event{span.kind, {}, span.start_us, span.end_us};
  const bool of_layer = span.kind == Kind::kLayer || span.kind == Kind::kResident;
  if (of_layer && span.index < plan.layers.size()) event.shard.id.layer = plan.layers[span.index];
  if (span.kind == Kind::kLoad) event.shard = streamed[span.index];
  return event;
}

/// Makes two events of the first one of a cold start.
void SplitOpening(double open_us, PlanTimeline* timeline) {
  if (open_us <= 0) return;
  timeline->events.front().start_us = open_us;
  timeline->events.insert(timeline->events.begin(), {LaneSpan::Kind::kOpen, {}, 0, open_us});
}

}  // namespace

Result<PlanTimeline> PlayPlan(const PlanInput& input, const Judging& judging, const Plan& plan,
                              Risk risk) {
  STI_ASSIGN_OR_RETURN(const CheckedInput checked, CheckedInput::Make(input));
  STI_ASSIGN_OR_RETURN(const DeviceModels for_target, CheckedDevices(checked, judging, plan));
  const Verdict verdict = Evaluate(checked, judging, for_target, plan);
  const DeviceModels devices = ModelsForRun(checked, for_target, plan);
  const DeviceModel& device = risk == Risk::kP99 ? devices.p99 : devices.median;
  const PlannedRun run = RunOf(checked, device, plan);
  std::optional<uint64_t> staging;
  if (verdict.fits_memory) staging = verdict.staging_bytes;
  std::vector<LaneSpan> spans;
  PlanTimeline timeline;
  timeline.latency_us = LatencyOf(run, staging, &spans);
  timeline.wake_us = run.wake_us;
  const double start_us = plan.cold ? input.profile.start_us : 0;
  const std::vector<ShardAtBits> streamed = StreamedBy(plan);
  timeline.events.reserve(spans.size() + 1);
  for (const LaneSpan& span : spans) timeline.events.push_back(Named(span, plan, streamed));
  if (plan.cold)
    SplitOpening(start_us + ColdTimesOf(checked, device, plan.layers).open_io_us, &timeline);
  timeline.stall_us = StallOf(run, start_us, timeline.latency_us);
  return timeline;
}

}  // namespace sti
