#include "plan/timeline.h"

#include <optional>

#include "plan/cascade_price.h"
#include "plan/judge.h"
#include "plan/planned_run.h"
#include "plan/play/cold.h"

namespace sti {
namespace {

/// Returns a span of a run that begins at `begin_us`, with its names.
PlanEvent Named(const LaneSpan& span, const PlanCore& plan, const PlannedRun& run,
                double begin_us) {
  using Kind = LaneSpan::Kind;
  PlanEvent event{span.kind, {}, begin_us + span.start_us, begin_us + span.end_us, span.agent};
  const bool of_layer = span.kind == Kind::kLayer || span.kind == Kind::kResident;
  if (of_layer && span.index < plan.layers.size()) event.shard.id.layer = plan.layers[span.index];
  if (span.kind == Kind::kLoad) event.shard = run.streamed[span.index].shard;
  return event;
}

/// Adds a run under a plan, or a level of its cascade, that begins where the events before it end.
void Play(const PlanCore& plan, const PlannedRun& run, std::optional<uint64_t> staging_bytes,
          double start_us, PlanTimeline* timeline) {
  std::vector<LaneSpan> spans;
  const double begin_us = timeline->latency_us;
  const double latency_us = LatencyOf(run, staging_bytes, &spans);
  for (const LaneSpan& span : spans) timeline->events.push_back(Named(span, plan, run, begin_us));
  timeline->latency_us += latency_us;
  timeline->stall_us += StallOf(run, start_us, latency_us);
}

/// Adds the runs of an input that goes through all levels of the plan's cascade.
void PlayLevels(const CheckedInput& input, const Judging& judging, const DeviceModels& devices,
                const DeviceModel& device, const Plan& plan, PlanTimeline* timeline) {
  const std::vector<PlannedRun> runs = RunsOfLevels(input, device, plan);
  const CascadeFigures figures = PriceCascade(input, judging, devices, plan);
  for (size_t i = 0; i < runs.size(); ++i) {
    timeline->level_start_us.push_back(timeline->latency_us);
    const bool is_last = i + 1 == runs.size();
    std::optional<uint64_t> staging;
    if (is_last && figures.fits_memory) staging = figures.staging_bytes;
    Play(is_last ? plan : plan.cascade->levels[i].plan, runs[i], staging, 0, timeline);
  }
}

/// Makes two events of the first one of a cold start.
void SplitOpening(double open_us, PlanTimeline* timeline) {
  if (open_us <= 0) return;
  timeline->events.front().start_us = open_us;
  timeline->events.insert(timeline->events.begin(), {LaneSpan::Kind::kOpen, {}, 0, open_us});
}

}  // namespace

PlanTimeline TimelineOf(const PlanCore& plan, const PlannedRun& run,
                        std::optional<uint64_t> staging_bytes) {
  PlanTimeline timeline;
  timeline.wake_us = run.wake_us;
  Play(plan, run, staging_bytes, 0, &timeline);
  return timeline;
}

Result<PlanTimeline> PlayPlan(const PlanInput& input, const Judging& judging, const Plan& plan,
                              Risk risk) {
  STI_ASSIGN_OR_RETURN(const CheckedInput checked, CheckedInput::Make(input));
  STI_ASSIGN_OR_RETURN(const DeviceModels for_target, CheckedDevices(checked, judging, plan));
  PlanTimeline timeline;
  if (plan.cascade) {
    const DeviceModel& device = risk == Risk::kP99 ? for_target.p99 : for_target.median;
    PlayLevels(checked, judging, for_target, device, plan, &timeline);
    return timeline;
  }
  const Verdict verdict = Evaluate(checked, judging, for_target, plan);
  const DeviceModels devices = ModelsForRun(checked, for_target, plan);
  const DeviceModel& device = risk == Risk::kP99 ? devices.p99 : devices.median;
  const PlannedRun run = RunOf(checked, device, plan);
  std::optional<uint64_t> staging;
  if (verdict.fits_memory) staging = verdict.staging_bytes;
  const double start_us = plan.cold ? input.profile.start_us : 0;
  timeline.wake_us = run.wake_us;
  Play(plan, run, staging, start_us, &timeline);
  if (plan.cold)
    SplitOpening(start_us + ColdTimesOf(checked, device, plan.layers).open_io_us, &timeline);
  return timeline;
}

}  // namespace sti
