#include "plan/stages.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/log.h"
#include "base/remedy.h"
#include "plan/device_model.h"
#include "plan/judge.h"
#include "plan/partition.h"
#include "plan/planned_run.h"
#include "plan/play/cold.h"
#include "plan/play/shard_costs.h"
#include "plan/search/allocation.h"
#include "plan/search/context.h"
#include "plan/search/submodels.h"
#include "plan/search/value.h"
#include "plan/shard_room.h"
#include "plan/text.h"
#include "types/bits.h"
#include "types/fields.h"
#include "types/importance.h"
#include "types/plan_check.h"
#include "types/stage.h"

namespace sti {
namespace {

constexpr double kBitsAByte = 8;
constexpr double kMicrosecondsASecond = 1e6;

/// A part of the plan's layers, by position, on a device of a kind.
struct StagePlace {
  size_t kind = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// The times of one kind for passes of one size.
struct KindTimes {
  const DeviceKind& kind;
  CheckedInput input;
  DeviceModels devices;
  ShardCosts costs;
};

/// Plans passes of one size over a cluster.
class ClusterPlanner {
 public:
  static Result<ClusterPlanner> Make(const ClusterInput& cluster, bool interpolate,
                                     const PlanCore& whole, uint32_t microbatch) {
    ClusterPlanner planner(cluster, whole, microbatch);
    for (const DeviceKind& kind : cluster.kinds) {
      const Status made = planner.AddKind(kind, interpolate);
      if (!made.ok()) return Error(made.error()).At("device " + kind.devices.front());
    }
    return planner;
  }

  /// Returns the best partition at uniform bits; nothing if none fits.
  [[nodiscard]] std::optional<Partition> PartitionAt(uint32_t bits) const {
    PartitionTimes times(layers(), static_cast<uint32_t>(kinds_.size()));
    ForEachPlace([&](const StagePlace& place) {
      const std::optional<double> period_us = PeriodAt(place, bits);
      if (period_us)
        times.SetStage(place.begin, place.end, static_cast<uint32_t>(place.kind), *period_us);
    });
    SetTransfers(&times, [this](const KindLink& link) { return TransferUs(link); });
    return BestPartition(times, DevicesOfKinds());
  }

  /// Returns the least memory with which each device would do, were all kinds to have it; nothing
  /// if devices are not linked so that the model could be split.
  [[nodiscard]] std::optional<uint64_t> LeastMemory(uint32_t bits) const {
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

  /// Returns the plan of a partition: at uniform bits, and then raised as the period allows.
  [[nodiscard]] Plan PlanOf(const Partition& partition, uint32_t bits) const {
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

  /// Fills in the figures of the stages, and of all together. Returns the first that does not fit
  /// its device; empty if all do. The plan's devices are the cluster's.
  std::string FillFigures(Plan* plan) const {
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

  /// Returns the timeline of a stage's pass.
  [[nodiscard]] PlanTimeline Play(const Plan& plan, size_t number) const {
    const Plan own = CutStage(plan, number);
    const PlannedRun run = RunOf(Kind(plan, number).input, Kind(plan, number).devices.median, own);
    return TimelineOf(own, run, own.staging_bytes);
  }

  [[nodiscard]] const std::vector<KindTimes>& kinds() const { return kinds_; }

  /// Returns the kind of a device; as many as there are if none has this name.
  [[nodiscard]] size_t KindOf(const std::string& device) const {
    const auto has = [&](const DeviceKind& kind) {
      return std::ranges::find(kind.devices, device) != kind.devices.end();
    };
    return static_cast<size_t>(std::ranges::find_if(cluster_.kinds, has) - cluster_.kinds.begin());
  }

 private:
  ClusterPlanner(const ClusterInput& cluster, const PlanCore& whole, uint32_t microbatch)
      : cluster_(cluster), whole_(whole), microbatch_(microbatch) {}

  [[nodiscard]] Status AddKind(const DeviceKind& kind, bool interpolate) {
    STI_ASSIGN_OR_RETURN(CheckedInput input, CheckedInput::Make(kind.input));
    const Judging judging{.risk = Risk::kMedian,
                          .memory_bytes = kind.memory_bytes,
                          .interpolate = interpolate};
    STI_ASSIGN_OR_RETURN(
        DeviceModels devices,
        DeviceModels::Make(input, whole_.length, 0, judging, std::nullopt, microbatch_));
    if (!devices.median.LayerUs(whole_.width)) {
      return DataError("no compute time for width " + std::to_string(whole_.width))
          .In(Source::kProfile)
          .Fix(Remedy::kMeasureTheseWidths);
    }
    STI_ASSIGN_OR_RETURN(ShardCosts costs, ShardCosts::Make(kind.input.catalog, devices.median));
    kinds_.push_back({kind, input, std::move(devices), std::move(costs)});
    return {};
  }

  struct StageRun {
    double p99_us = 0;
    bool fits = true;
  };

  [[nodiscard]] uint32_t layers() const { return static_cast<uint32_t>(whole_.layers.size()); }
  [[nodiscard]] const KindTimes& Kind(const Plan& plan, size_t number) const {
    return kinds_[KindOf(plan.staged->stages[number].device)];
  }
  [[nodiscard]] NetworkEnds EndsOf(const StagePlace& place) const {
    return {.text = place.begin == 0, .head = place.end == layers()};
  }

  template <typename Visit>
  void ForEachPlace(const Visit& visit) const {
    for (size_t kind = 0; kind < kinds_.size(); ++kind) {
      for (uint32_t begin = 0; begin < layers(); ++begin) {
        for (uint32_t end = begin + 1; end <= layers(); ++end)
          visit(StagePlace{kind, begin, end});
      }
    }
  }

  template <typename Cost>
  void SetTransfers(PartitionTimes* times, const Cost& cost) const {
    for (uint32_t from = 0; from < kinds_.size(); ++from) {
      for (uint32_t to = 0; to < kinds_.size(); ++to) {
        const KindLink& link = cluster_.Link(from, to);
        if (link.bits_per_s <= 0) continue;
        for (uint32_t end = 1; end < layers(); ++end) times->SetTransfer(end, from, to, cost(link));
      }
    }
  }

  [[nodiscard]] std::vector<uint32_t> DevicesOfKinds() const {
    std::vector<uint32_t> counts;
    for (const DeviceKind& kind : cluster_.kinds)
      counts.push_back(static_cast<uint32_t>(kind.devices.size()));
    return counts;
  }

  /// Returns the time of sending the rows of a whole pass.
  [[nodiscard]] double TransferUs(const KindLink& link) const {
    const double bytes = static_cast<double>(uint64_t{whole_.length} * microbatch_ *
                                             cluster_.kinds.front().input.info.shape.hidden) *
                         sizeof(float);
    return bytes * kBitsAByte / link.bits_per_s * kMicrosecondsASecond;
  }

  /// Returns the bytes that a stage's process takes before its shards.
  [[nodiscard]] uint64_t BytesBefore(const StagePlace& place) const {
    MemoryBeforeShards memory = kinds_[place.kind].kind.input.memory;
    const NetworkEnds ends = EndsOf(place);
    const StageExtent stage{whole_.layers[place.begin], whole_.layers[place.end - 1] + 1, ends};
    if (memory.stage_resident) memory.resident = memory.stage_resident(stage);
    const PlanExtent extent{whole_.length * microbatch_, whole_.width, microbatch_, ends};
    const uint64_t link = memory.link ? memory.link(extent) : 0;
    return AddSaturated(BytesBeforeShards(memory, extent), link);
  }

  /// Returns the bytes that are left for a stage's shards; nothing if memory is not bounded.
  [[nodiscard]] std::optional<uint64_t> ShardBytes(const StagePlace& place) const {
    const std::optional<uint64_t> memory = kinds_[place.kind].kind.memory_bytes;
    if (!memory) return std::nullopt;
    return *memory - std::min(*memory, BytesBefore(place));
  }

  /// Returns the bytes of the largest layer of a stage, which staging holds at least.
  [[nodiscard]] uint64_t LeastStaging(const StagePlace& place, uint32_t bits) const {
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

  [[nodiscard]] std::vector<uint32_t> LayersOf(const StagePlace& place) const {
    return {whole_.layers.begin() + place.begin, whole_.layers.begin() + place.end};
  }

  /// Returns an allocation of a stage at the lowest bits, which are within `target_us`, if any.
  [[nodiscard]] Allocation AllocationOf(const StagePlace& place,
                                        std::optional<double> target_us) const {
    const KindTimes& kind = kinds_[place.kind];
    const std::vector<uint32_t> own = LayersOf(place);
    Budget budget;
    budget.lane = LaneOf(kind.input, kind.devices.median, own, whole_.width, false, EndsOf(place));
    budget.target_us = target_us;
    budget.preload_bytes = kind.kind.preload_bytes;
    budget.shard_bytes = ShardBytes(place);
    return {kind.costs, own, whole_.width, budget};
  }

  /// Returns a stage as a plan of its own.
  [[nodiscard]] PlanCore CoreOf(const StagePlace& place, const Allocation& allocation) const {
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

  /// Returns the period of a stage at uniform bits; nothing if memory does not hold it, or its
  /// device does not tell the time of these bits.
  [[nodiscard]] std::optional<double> PeriodAt(const StagePlace& place, uint32_t bits) const {
    const KindTimes& kind = kinds_[place.kind];
    const std::optional<size_t> level = kind.costs.LevelOf(bits);
    Allocation allocation = AllocationOf(place, std::nullopt);
    if (!level || !allocation.SetUniform(*level)) return std::nullopt;
    const PlannedRun run =
        RunOf(kind.input, kind.devices.median, CoreOf(place, allocation));
    std::optional<uint64_t> staging = ShardBytes(place);
    if (staging) *staging -= std::min(*staging, allocation.preloaded_bytes());
    const double period_us = LatencyOf(run, staging);
    if (period_us == std::numeric_limits<double>::infinity()) return std::nullopt;
    return period_us;
  }

  /// Raises the shards of a stage, the most important first, as far as its period allows.
  void Raise(const StagePlace& place, double period_us, uint32_t bits, Plan* plan,
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

  /// Returns the shards of a stage by position, the most important first.
  [[nodiscard]] std::vector<size_t> OrderOf(const StagePlace& place) const {
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

  /// Fills in the figures of one stage.
  StageRun FillStage(size_t kind_number, size_t number, Plan* plan) const {
    const KindTimes& kind = kinds_[kind_number];
    PlanStage& stage = plan->staged->stages[number];
    const DeviceProfile& profile = kind.kind.input.profile;
    stage.kernel = profile.kernel;
    stage.read_path = profile.read_path;
    stage.read_bytes = UnlessZero(profile.read_bytes);
    stage.read_depth = UnlessZero(profile.read_depth);
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
    stage.predicted_peak_bytes = AddSaturated(
        BytesBefore(place), AddSaturated(stage.preload_bytes, stage.staging_bytes));
    std::optional<uint64_t> bound;
    if (staging.fits) bound = staging.bytes;
    stage.period_us = LatencyOf(runs[0], bound);
    for (PlannedRun& run : runs) {
      for (const StreamedShard& shard : run.streamed) run.wake_us += shard.load_us;
    }
    stage.pass_us = LatencyOf(runs[0], bound);
    return {LatencyOf(runs[1], bound), staging.fits};
  }

  /// Fills in what the plan says of all its stages together, and of a device that runs it whole.
  void FillWhole(double first_us, double first_p99_us, Plan* plan) const {
    const KindTimes& kind = Kind(*plan, 0);
    const PlanCore& core = *plan;
    const PlannedRun run[1] = {RunOf(kind.input, kind.devices.median, core)};
    const StagingNeed need = StagingOf(run, kind.kind.input.profile);
    plan->parameter_bytes = run[0].all_bytes;
    plan->staging_bytes = UnlessZero(need.enough);
    plan->predicted_peak_bytes = AddSaturated(
        BytesBeforeShards(kind.kind.input.memory, core.Extent()), need.enough);
    plan->kernel = kind.kind.input.profile.kernel;
    plan->read_path = kind.kind.input.profile.read_path;
    plan->predicted_latency_us = first_us;
    plan->predicted_p99_us = first_p99_us;
    plan->quality = PredictQuality(kind.input, core, core.bits);
  }

  const ClusterInput& cluster_;
  PlanCore whole_;  ///< layers, width and length
  uint32_t microbatch_;
  std::vector<KindTimes> kinds_;
};

/// Returns the layers, the width and the length that are planned, without bits.
Result<PlanCore> WholeOf(const ClusterInput& cluster, const StageRequest& request) {
  const PlanInput& first = cluster.kinds.front().input;
  STI_ASSIGN_OR_RETURN(const CheckedInput input, CheckedInput::Make(first));
  PlanCore whole;
  whole.model = first.model;
  whole.shape = first.shape;
  whole.strategy = Strategy::kSti;
  STI_ASSIGN_OR_RETURN(whole.length, PlannedLength(input, request.length));
  for (size_t i = 1; i < cluster.kinds.size(); ++i) {
    STI_ASSIGN_OR_RETURN(const CheckedInput other, CheckedInput::Make(cluster.kinds[i].input));
    STI_ASSIGN_OR_RETURN(const uint32_t length, PlannedLength(other, request.length));
    whole.length = std::min(whole.length, length);
  }
  const Submodel all{first.info.shape.layers, first.info.shape.width};
  STI_ASSIGN_OR_RETURN(const DeviceModel device,
                       DeviceModel::Make(first.profile, whole.length, Risk::kMedian));
  const SubmodelWish wish{request.submodel.value_or(all), 1, request.allow_untrained,
                          request.interpolate};
  STI_ASSIGN_OR_RETURN(const std::vector<Submodel> allowed,
                       AllowedSubmodels(first.info, device, wish));
  const Submodel& submodel = allowed.front();
  RunUniformly(LayersOfDepth(first.info, submodel.depth), submodel.width, kLeastBits, &whole);
  return whole;
}

/// Returns the microbatches that are asked for, or those that all profiles have.
std::vector<uint32_t> MicrobatchesOf(const ClusterInput& cluster, const StageRequest& request) {
  if (!request.microbatches.empty()) return request.microbatches;
  std::vector<uint32_t> common{1};
  for (const BatchSamples& samples : cluster.kinds.front().input.profile.batches) {
    const auto has = [&](const DeviceKind& kind) {
      const auto& batches = kind.input.profile.batches;
      return std::ranges::find(batches, samples.batch, &BatchSamples::batch) != batches.end();
    };
    if (std::ranges::all_of(cluster.kinds, has)) common.push_back(samples.batch);
  }
  return common;
}

/// Returns the bits that shards may have uniformly, the best first.
std::vector<uint32_t> BitsToTry(const ShardCatalog& catalog, const StageRequest& request) {
  if (request.bits) return {*request.bits};
  std::vector<uint32_t> bits;
  for (const uint32_t offered : catalog.bits) {
    if (offered <= kMostBits) bits.insert(bits.begin(), offered);
  }
  if (bits.empty()) bits = catalog.bits;
  return bits;
}

/// A partition for passes of one size at uniform bits.
struct Candidate {
  Partition partition;
  uint32_t microbatch = 1;
  uint32_t bits = 0;

  [[nodiscard]] double PerSequenceUs() const { return partition.period_us / microbatch; }
};

Status CheckCluster(const ClusterInput& cluster, const StageRequest& request) {
  std::vector<uint32_t> devices;
  for (const DeviceKind& kind : cluster.kinds)
    devices.push_back(static_cast<uint32_t>(kind.devices.size()));
  const bool is_alone = devices.size() == 1 && devices.front() == 1;
  if (!is_alone && std::ranges::none_of(cluster.links, [](const KindLink& link) {
        return link.bits_per_s > 0;
      })) {
    return DataError("no device is linked to another").Fix(Remedy::kCorrectFile);
  }
  const ShardCatalog& catalog = cluster.kinds.front().input.catalog;
  if (PartitionStates(catalog.layers, devices) > kMostPartitionStates)
    return UsageError("the cluster has too many kinds of devices; let devices that are alike be of "
                      "one kind");
  if (request.bits && std::ranges::find(catalog.bits, *request.bits) == catalog.bits.end())
    return UsageError("the model has no shards of " + std::to_string(*request.bits) + " bits");
  return {};
}

Error NothingFits(const ClusterPlanner& planner, uint32_t bits) {
  const std::optional<uint64_t> least = planner.LeastMemory(bits);
  if (!least) {
    return InfeasibleError(
        "no devices of the cluster are linked so that the model could be split between them");
  }
  return InfeasibleError("no partition fits the memory of the devices; with " +
                         std::to_string(*least) + " bytes on each of them one would");
}

}  // namespace

Result<Plan> PlanForCluster(const ClusterInput& cluster, const StageRequest& request,
                            std::vector<std::string>* explain) {
  const auto say = [&](std::string line) {
    if (explain != nullptr) explain->push_back(std::move(line));
  };
  STI_RETURN_IF_ERROR(CheckCluster(cluster, request));
  STI_ASSIGN_OR_RETURN(const PlanCore whole, WholeOf(cluster, request));
  const std::vector<uint32_t> bits = BitsToTry(cluster.kinds.front().input.catalog, request);
  std::optional<Candidate> best;
  std::optional<Error> none;
  for (const uint32_t microbatch : MicrobatchesOf(cluster, request)) {
    STI_ASSIGN_OR_RETURN(
        const ClusterPlanner planner,
        ClusterPlanner::Make(cluster, request.interpolate, whole, microbatch));
    std::optional<Partition> partition;
    uint32_t at_bits = 0;
    for (size_t i = 0; i < bits.size() && !partition; ++i)
      partition = planner.PartitionAt(at_bits = bits[i]);
    if (!partition) {
      if (!none) none = NothingFits(planner, bits.back());
      say("microbatch " + std::to_string(microbatch) + ": fits nowhere");
      continue;
    }
    const Candidate candidate{*std::move(partition), microbatch, at_bits};
    say("microbatch " + std::to_string(microbatch) + ": " +
        Counted(candidate.partition.stages.size(), "stage") + " at " + std::to_string(at_bits) +
        " bits, period " + Ms(candidate.partition.period_us) + ", " +
        Ms(candidate.PerSequenceUs()) + " a text");
    const bool better = !best || candidate.bits > best->bits ||
                        (candidate.bits == best->bits &&
                         candidate.PerSequenceUs() < best->PerSequenceUs());
    if (better) best = candidate;
  }
  if (!best) return *none;
  STI_ASSIGN_OR_RETURN(
      const ClusterPlanner planner,
      ClusterPlanner::Make(cluster, request.interpolate, whole, best->microbatch));
  Plan plan = planner.PlanOf(best->partition, best->bits);
  (void)planner.FillFigures(&plan);
  return plan;
}

namespace {

/// Returns a planner for a plan from elsewhere, whose devices are the cluster's.
Result<ClusterPlanner> PlannerFor(const ClusterInput& cluster, bool interpolate, const Plan& plan) {
  const PlanInput& input = cluster.kinds.front().input;
  STI_ASSIGN_OR_RETURN(const CheckedInput checked, CheckedInput::Make(input));
  STI_RETURN_IF_ERROR(CheckFits(checked, plan));
  PlanCore whole = plan;
  STI_ASSIGN_OR_RETURN(
      ClusterPlanner planner,
      ClusterPlanner::Make(cluster, interpolate, whole, plan.staged->microbatch));
  for (size_t i = 0; i < plan.staged->stages.size(); ++i) {
    const std::string& device = plan.staged->stages[i].device;
    if (planner.KindOf(device) == cluster.kinds.size())
      return ForeignError("the cluster has no device " + device).In(Source::kPlan);
    if (i == 0) continue;
    const std::string& before = plan.staged->stages[i - 1].device;
    if (cluster.Link(planner.KindOf(before), planner.KindOf(device)).bits_per_s <= 0)
      return ForeignError("the cluster has no link from " + before + " to " + device)
          .In(Source::kPlan);
  }
  return planner;
}

}  // namespace

Result<StageVerdicts> JudgeStages(const ClusterInput& cluster, bool interpolate, const Plan& plan) {
  STI_ASSIGN_OR_RETURN(const ClusterPlanner planner, PlannerFor(cluster, interpolate, plan));
  Plan judged = plan;
  StageVerdicts verdicts;
  verdicts.problem = planner.FillFigures(&judged);
  verdicts.staged = *std::move(judged.staged);
  return verdicts;
}

Result<std::vector<PlanTimeline>> PlayStages(const ClusterInput& cluster, bool interpolate,
                                             const Plan& plan) {
  STI_ASSIGN_OR_RETURN(const ClusterPlanner planner, PlannerFor(cluster, interpolate, plan));
  std::vector<PlanTimeline> timelines;
  for (size_t i = 0; i < plan.staged->stages.size(); ++i)
    timelines.push_back(planner.Play(plan, i));
  return timelines;
}

}  // namespace sti
