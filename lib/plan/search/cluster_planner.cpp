#include "plan/search/cluster_planner.h"

#include <limits>
#include <numeric>
#include <utility>

#include "base/remedy.h"
#include "plan/play/cold.h"
#include "plan/search/value.h"
#include "plan/shard_room.h"
#include "types/bits.h"
#include "types/fields.h"
#include "types/importance.h"

namespace sti {
namespace {

constexpr double kBitsAByte = 8;
constexpr double kMicrosecondsASecond = 1e6;

}  // namespace

Result<ClusterPlanner> ClusterPlanner::Make(const ClusterInput& cluster, bool interpolate,
                                            const PlanCore& whole, uint32_t microbatch) {
  ClusterPlanner planner(cluster, whole, microbatch);
  for (const DeviceKind& kind : cluster.kinds) {
    const Status made = planner.AddKind(kind, interpolate);
    if (!made.ok()) return Error(made.error()).At("device " + kind.devices.front());
  }
  return planner;
}

std::optional<Partition> ClusterPlanner::PartitionAt(uint32_t bits) const {
  PartitionTimes times(layers(), static_cast<uint32_t>(kinds_.size()));
  ForEachPlace([&](const StagePlace& place) {
    const std::optional<double> period_us = PeriodAt(place, bits);
    if (period_us)
      times.SetStage(place.begin, place.end, static_cast<uint32_t>(place.kind), *period_us);
  });
  SetTransfers(&times, [this](const KindLink& link) { return TransferUs(link); });
  return BestPartition(times, DevicesOfKinds());
}

std::optional<uint64_t> ClusterPlanner::LeastMemory(uint32_t bits) const {
  PartitionTimes bytes(layers(), static_cast<uint32_t>(kinds_.size()));
  ForEachPlace([&](const StagePlace& place) {
    const uint64_t least = AddSaturated(BytesBefore(place), LeastStaging(place, bits));
    bytes.SetStage(place.begin, place.end, static_cast<uint32_t>(place.kind),
                   static_cast<double>(least));
  });
  SetTransfers(&bytes, [](const KindLink&) { return 0.0; });
  const std::optional<Partition> best = BestPartition(bytes, DevicesOfKinds());
  if (!best) return std::nullopt;
  return static_cast<uint64_t>(best->period_us);
}

Plan ClusterPlanner::PlanOf(const Partition& partition, uint32_t bits) const {
  Plan plan{whole_};
  RunUniformly(whole_.layers, whole_.width, bits, &plan);
  plan.staged.emplace().microbatch = microbatch_;
  std::vector<size_t> taken(kinds_.size());
  for (const PartitionStage& part : partition.stages) {
    const StagePlace place{part.kind, part.begin, part.end};
    PlanStage& stage = plan.staged->stages.emplace_back();
    stage.device = kinds_[place.kind].kind.devices[taken[place.kind]++];
    stage.begin = place.begin;
    stage.end = place.end;
    Raise(place, partition.period_us, bits, &plan, &stage);
  }
  return plan;
}

std::string ClusterPlanner::FillFigures(Plan* plan) const {
  PlanStages& staged = *plan->staged;
  std::string problem;
  double first_us = 0;
  double first_p99_us = 0;
  staged.period_us = 0;
  for (size_t i = 0; i < staged.stages.size(); ++i) {
    const size_t kind = KindOf(staged.stages[i].device);
    const StageRun run = FillStage(kind, i, plan);
    PlanStage& stage = staged.stages[i];
    if (!run.fits && problem.empty()) {
      problem = stage.device + " needs " + std::to_string(stage.predicted_peak_bytes) +
                " bytes of memory";
    }
    if (i + 1 < staged.stages.size()) {
      const KindLink& link = cluster_.Link(kind, KindOf(staged.stages[i + 1].device));
      stage.transfer_us = TransferUs(link);
      stage.delay_us = link.delay_us;
    }
    staged.period_us = std::max({staged.period_us, stage.period_us, stage.transfer_us});
    first_us += stage.pass_us + stage.transfer_us + stage.delay_us;
    first_p99_us += run.p99_us + stage.transfer_us + stage.delay_us;
  }
  staged.throughput_per_s =
      staged.period_us > 0 ? microbatch_ * kMicrosecondsASecond / staged.period_us : 0;
  FillWhole(first_us, first_p99_us, plan);
  return problem;
}

Status ClusterPlanner::AddKind(const DeviceKind& kind, bool interpolate) {
  STI_ASSIGN_OR_RETURN(CheckedInput input, CheckedInput::Make(kind.input));
  const Judging judging{
      .risk = Risk::kMedian, .memory_bytes = kind.memory_bytes, .interpolate = interpolate};
  STI_ASSIGN_OR_RETURN(DeviceModels devices, DeviceModels::Make(input, whole_.length, 0, judging,
                                                                std::nullopt, microbatch_));
  if (!devices.median.LayerUs(whole_.width)) {
    return DataError("no compute time for width " + std::to_string(whole_.width))
        .In(Source::kProfile)
        .Fix(Remedy::kMeasureTheseWidths);
  }
  STI_ASSIGN_OR_RETURN(ShardCosts costs, ShardCosts::Make(kind.input.catalog, devices.median));
  kinds_.push_back({kind, input, std::move(devices), std::move(costs)});
  return {};
}

uint64_t ClusterPlanner::BytesBefore(const StagePlace& place) const {
  MemoryBeforeShards memory = kinds_[place.kind].kind.input.memory;
  const NetworkEnds ends = EndsOf(place);
  const StageExtent stage{whole_.layers[place.begin], whole_.layers[place.end - 1] + 1, ends};
  if (memory.stage_resident) memory.resident = memory.stage_resident(stage);
  const PlanExtent extent{whole_.length * microbatch_, whole_.width, microbatch_, ends};
  const uint64_t link = memory.link ? memory.link(extent) : 0;
  return AddSaturated(BytesBeforeShards(memory, extent), link);
}

uint64_t ClusterPlanner::LeastStaging(const StagePlace& place, uint32_t bits) const {
  uint64_t most = 0;
  for (uint32_t k = place.begin; k < place.end; ++k) {
    uint64_t bytes = 0;
    for (uint32_t slice = 0; slice < whole_.width; ++slice) {
      const ShardAtBits shard{{whole_.layers[k], slice}, bits};
      bytes += cluster_.kinds.front().input.catalog.BytesOf(shard).value_or(0);
    }
    most = std::max(most, bytes);
  }
  return most;
}

Allocation ClusterPlanner::AllocationOf(const StagePlace& place,
                                        std::optional<double> target_us) const {
  const KindTimes& kind = kinds_[place.kind];
  const std::vector<uint32_t> own = LayersOf(place);
  Budget budget;
  budget.lane = LaneOf(kind.input, kind.devices.median, own, whole_.width, {false, EndsOf(place)});
  budget.target_us = target_us;
  budget.preload_bytes = kind.kind.preload_bytes;
  budget.shard_bytes = ShardBytes(place);
  return {kind.costs, own, whole_.width, budget};
}

PlanCore ClusterPlanner::CoreOf(const StagePlace& place, const Allocation& allocation) const {
  PlanCore core = whole_;
  RunUniformly(LayersOf(place), whole_.width, kLeastBits, &core);
  core.ends = EndsOf(place);
  core.microbatch = microbatch_;
  for (size_t shard = 0; shard < allocation.shards(); ++shard) {
    const uint32_t bits = allocation.costs().bits()[allocation.level(shard)];
    core.bits.values()[shard] = bits;
    if (shard < allocation.preloaded()) core.preload.push_back({allocation.IdOf(shard), bits});
  }
  return core;
}

std::optional<double> ClusterPlanner::PeriodAt(const StagePlace& place, uint32_t bits) const {
  const KindTimes& kind = kinds_[place.kind];
  const std::optional<size_t> level = kind.costs.LevelOf(bits);
  Allocation allocation = AllocationOf(place, std::nullopt);
  if (!level || !allocation.SetUniform(*level)) return std::nullopt;
  const PlannedRun run = RunOf(kind.input, kind.devices.median, CoreOf(place, allocation));
  std::optional<uint64_t> staging = ShardBytes(place);
  if (staging) *staging -= std::min(*staging, allocation.preloaded_bytes());
  const double period_us = LatencyOf(run, staging);
  if (period_us == std::numeric_limits<double>::infinity()) return std::nullopt;
  return period_us;
}

void ClusterPlanner::Raise(const StagePlace& place, double period_us, uint32_t bits, Plan* plan,
                           PlanStage* stage) const {
  Allocation allocation = AllocationOf(place, period_us);
  const size_t level = allocation.costs().LevelOf(bits).value_or(0);
  const bool in_time = allocation.SetUniform(level);
  // A stage that waits for staging may be later than its budgets say: then it has no room.
  if (in_time) RaiseByLevel(&allocation, OrderOf(place));
  const PlanCore core = CoreOf(place, allocation);
  for (uint32_t k = place.begin; k < place.end; ++k)
    std::ranges::copy(core.bits.Row(k - place.begin), plan->bits.Row(k).begin());
  stage->preload = core.preload;
}

std::vector<size_t> ClusterPlanner::OrderOf(const StagePlace& place) const {
  const Importance* importance = kinds_[place.kind].kind.input.importance;
  const std::vector<uint32_t> own = LayersOf(place);
  std::vector<size_t> order;
  if (importance == nullptr) {
    order.resize(own.size() * whole_.width);
    std::iota(order.begin(), order.end(), size_t{0});
    return order;
  }
  for (const ShardId& id : ImportanceRank(*importance)) {
    const auto at = std::ranges::lower_bound(own, id.layer);
    if (at == own.end() || *at != id.layer || id.slice >= whole_.width) continue;
    order.push_back(static_cast<size_t>(at - own.begin()) * whole_.width + id.slice);
  }
  return order;
}

ClusterPlanner::StageRun ClusterPlanner::FillStage(size_t kind_number, size_t number,
                                                   Plan* plan) const {
  const KindTimes& kind = kinds_[kind_number];
  PlanStage& stage = plan->staged->stages[number];
  const DeviceProfile& profile = kind.kind.input.profile;
  stage.kernel = profile.kernel;
  stage.read_path = profile.read_path;
  stage.read_bytes = UnlessZero(profile.read_bytes);
  stage.read_depth = UnlessZero(profile.read_depth);
  if (profile.read_streams > 1) stage.read_streams = profile.read_streams;
  stage.threads = UnlessZero(profile.threads);
  stage.cpus = UnlessZero(profile.cpus);
  const StagePlace place{kind_number, stage.begin, stage.end};
  const Plan own = CutStage(*plan, number);
  PlannedRun runs[2] = {RunOf(kind.input, kind.devices.median, own),
                        RunOf(kind.input, kind.devices.p99, own)};
  stage.preload_bytes = runs[0].held_bytes;
  const Staging staging =
      StagingOf(runs, profile).Within(std::nullopt, stage.preload_bytes, ShardBytes(place));
  stage.staging_bytes = staging.bytes;
  stage.predicted_peak_bytes =
      AddSaturated(BytesBefore(place), AddSaturated(stage.preload_bytes, stage.staging_bytes));
  std::optional<uint64_t> bound;
  if (staging.fits) bound = staging.bytes;
  stage.period_us = LatencyOf(runs[0], bound);
  for (PlannedRun& run : runs) {
    for (const StreamedShard& shard : run.streamed) run.wake_us += shard.load_us;
  }
  stage.pass_us = LatencyOf(runs[0], bound);
  return {LatencyOf(runs[1], bound), staging.fits};
}

void ClusterPlanner::FillWhole(double first_us, double first_p99_us, Plan* plan) const {
  const KindTimes& kind = Kind(*plan, 0);
  const PlanCore& core = *plan;
  const PlannedRun run[1] = {RunOf(kind.input, kind.devices.median, core)};
  const StagingNeed need = StagingOf(run, kind.kind.input.profile);
  plan->parameter_bytes = run[0].all_bytes;
  plan->staging_bytes = UnlessZero(need.enough);
  plan->predicted_peak_bytes =
      AddSaturated(BytesBeforeShards(kind.kind.input.memory, core.Extent()), need.enough);
  plan->kernel = kind.kind.input.profile.kernel;
  plan->read_path = kind.kind.input.profile.read_path;
  plan->predicted_latency_us = first_us;
  plan->predicted_p99_us = first_p99_us;
  plan->quality = PredictQuality(kind.input, core, core.bits);
}

double ClusterPlanner::TransferUs(const KindLink& link) const {
  const double bytes = static_cast<double>(uint64_t{whole_.length} * microbatch_ *
                                           cluster_.kinds.front().input.info.shape.hidden) *
                       sizeof(float);
  return bytes * kBitsAByte / link.bits_per_s * kMicrosecondsASecond;
}

}  // namespace sti
