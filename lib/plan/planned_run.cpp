#include "plan/planned_run.h"

#include <algorithm>
#include <limits>

#include "plan/cold.h"
#include "plan/memory.h"

namespace sti {
namespace {

constexpr uint64_t kBlock = 4096;                  // of direct reads
constexpr uint64_t kUnknownReadBytes = 256 << 10;  // where the profile does not say

StagingNeed AllOf(const PlannedRun& run) {
  StagingNeed need;
  std::vector<uint64_t> layer_bytes = run.lane.part_bytes;
  layer_bytes.resize(run.lane.layers + 1);  // and the head
  for (uint64_t part : layer_bytes) need.enough += part;
  for (const StreamedShard& shard : run.streamed) {
    need.enough += shard.bytes;
    layer_bytes[shard.position] += shard.bytes;
  }
  need.least = *std::max_element(layer_bytes.begin(), layer_bytes.end());
  return need;
}

/// The least staging, in whole blocks between `need`'s, that is as good as any: more is never
/// slower, so halves find it.
uint64_t LeastUndelayed(const PlannedRun& run, const StagingNeed& need) {
  const double latency_us = LatencyOf(run, std::nullopt);
  uint64_t low = need.least / kBlock;
  uint64_t high = need.enough / kBlock + 1;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (LatencyOf(run, middle * kBlock) <= latency_us) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low * kBlock;
}

}  // namespace

PlannedRun RunOf(const PlanInput& input, const DeviceModel& device, const Plan& plan) {
  PlannedRun run;
  run.lane = LaneOf(input, device, plan.layers, plan.width, plan.cold);
  for (const PlannedShard& shard : ShardsOf(input.catalog, device, plan)) {
    if (!shard.preloaded) run.streamed.push_back(shard.shard);
  }
  run.serial = DelayModelFor(plan.strategy) == DelayModel::kSerial;
  run.wake_us = run.serial ? 0 : plan.wake_us;
  return run;
}

double LatencyOf(const PlannedRun& run, std::optional<uint64_t> staging_bytes,
                 std::vector<WorkSpan>* spans) {
  if (run.serial) return SerialLatency(run.lane, run.streamed, spans);
  return PipelineLatency(run.lane, run.streamed, staging_bytes, run.wake_us, spans)
      .value_or(std::numeric_limits<double>::infinity());
}

double StallOf(const PlannedRun& run, double start_us, double latency_us) {
  return std::max(0.0, latency_us - start_us - run.lane.compute_us());
}

void StagingNeed::Include(const StagingNeed& other) {
  least = std::max(least, other.least);
  enough = std::max(enough, other.enough);
}

StagingNeed StagingOf(std::span<const PlannedRun> runs, const DeviceProfile& profile) {
  StagingNeed need = AllOf(runs.front());
  // Nothing is computed, and freed, before all is there.
  if (runs.front().serial) return {need.enough, need.enough};
  const uint64_t read_bytes = profile.read_bytes != 0 ? profile.read_bytes : kUnknownReadBytes;
  uint64_t undelayed = 0;
  for (const PlannedRun& run : runs) undelayed = std::max(undelayed, LeastUndelayed(run, need));
  const uint64_t ring_bytes = read_bytes * std::max(profile.read_depth, 1u);
  need.enough = std::min(need.enough, AddSaturated(undelayed, ring_bytes));
  return need;
}

}  // namespace sti
