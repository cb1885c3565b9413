#include "plan/plan_timeline.h"

#include <algorithm>

#include "plan/evaluation.h"
#include "plan/memory.h"
#include "plan/planned_shards.h"

namespace sti {
namespace {

/// The shards that a plan reads, in layer order, and the names they have.
struct Reads {
  std::vector<StreamedShard> shards;
  std::vector<PreloadedShard> names;
};

Reads ReadsOf(const ShardCatalog& catalog, const DeviceModel& device, const Plan& plan) {
  Reads reads;
  for (const PlannedShard& planned : ShardsOf(catalog, device, plan)) {
    if (planned.preloaded) continue;
    reads.shards.push_back(planned.shard);
    reads.names.push_back(planned.name);
  }
  return reads;
}

PlanEvent Named(const WorkSpan& span, const Plan& plan, const Reads& reads) {
  PlanEvent event{span.work, 0, 0, 0, span.start_us, span.end_us};
  if (span.work == Work::kLayer) event.layer = plan.layers[span.index];
  if (span.work == Work::kLoad) {
    const PreloadedShard& name = reads.names[span.index];
    event.layer = name.layer;
    event.slice = name.slice;
    event.bits = name.bits;
  }
  return event;
}

}  // namespace

Result<PlanTimeline> PlayPlan(const PlanInput& input, const PlanRequest& request, const Plan& plan,
                              Risk risk) {
  STI_ASSIGN_OR_RETURN(const PlanCheck check, CheckPlan(input, request, plan));
  STI_ASSIGN_OR_RETURN(const DeviceModels devices,
                       DeviceModels::Make(input.profile, plan.length, request.risk,
                                          {plan.freq, request.interpolate}));
  const DeviceModel& device = risk == Risk::kP99 ? devices.p99 : devices.median;
  const ComputeLane lane{device.fixed(), static_cast<uint32_t>(plan.layers.size()),
                         device.LayerUs(plan.width).value_or(0)};
  const Reads reads = ReadsOf(input.catalog, device, plan);
  std::vector<WorkSpan> spans;
  PlanTimeline timeline;
  if (DelayModelOf(plan.strategy) == DelayModel::kSerial) {
    timeline.latency_us = SerialLatency(lane, reads.shards, &spans);
  } else {
    timeline.wake_us = plan.wake_us;
    std::optional<uint64_t> staging = ShardMemory(input, request, plan.length, plan.width);
    if (staging && check.fits_memory) *staging -= check.preload_bytes;
    if (!check.fits_memory) staging.reset();
    const auto latency_us = PipelineLatency(lane, reads.shards, staging, plan.wake_us, &spans);
    if (!latency_us) return InfeasibleError("plan: one layer exceeds the memory; raise --memory");
    timeline.latency_us = *latency_us;
  }
  timeline.events.reserve(spans.size());
  double computed_us = 0;
  for (const WorkSpan& span : spans) {
    timeline.events.push_back(Named(span, plan, reads));
    if (span.work != Work::kRows && span.work != Work::kLoad)
      computed_us += span.end_us - span.start_us;
  }
  timeline.stall_us = std::max(0.0, timeline.latency_us - computed_us);
  return timeline;
}

}  // namespace sti
