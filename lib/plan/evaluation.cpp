#include "plan/evaluation.h"

#include <algorithm>
#include <array>
#include <set>

#include "plan/aib.h"
#include "plan/cold.h"
#include "plan/planned_run.h"
#include "plan/shard_costs.h"
#include "plan/submodels.h"
#include "plan/text.h"
#include "plan/turn_run.h"
#include "plan/value.h"
#include "types/plan_check.h"

namespace sti {
namespace {

std::vector<double> AibsOf(const PlannedRun& run, const std::vector<PlannedShard>& shards,
                           double slack_us, bool streamed_only) {
  std::vector<double> layer_io_us = PartIo(run.lane);
  double bonus_us = 0;
  for (const PlannedShard& shard : shards) {
    if (shard.preloaded && streamed_only) continue;
    layer_io_us[shard.shard.position] += shard.shard.load_us;
    if (shard.preloaded) bonus_us += shard.shard.load_us;
  }
  return ComputeAibs(bonus_us + run.wake_us, slack_us, run.lane.fixed.embed_io_us,
                     run.lane.layer_us, layer_io_us);
}

/// The plan at the median and at the 99th percentile.
std::array<PlannedRun, 2> RunsOf(const PlanInput& input, const DeviceModels& devices,
                                 const Plan& plan) {
  return {RunOf(input, devices.median, plan), RunOf(input, devices.p99, plan)};
}

/// Staging that serves the plan, its variants and its turns.
StagingNeed StagingOfAll(const PlanInput& input, const PlanRequest& request,
                         const DeviceModels& devices, const Plan& plan) {
  StagingNeed need = StagingOf(RunsOf(input, devices, plan), input.profile);
  for (const Plan& variant : plan.variants) {
    const Result<DeviceModels> other =
        DeviceModels::Make(input.profile, variant.length, request.judging.risk,
                           {variant.freq, request.judging.interpolate});
    // A variant whose times the profile cannot tell is refused where it is judged itself.
    if (other.ok()) need.Include(StagingOf(RunsOf(input, *other, variant), input.profile));
  }
  for (const PlanTurn& turn : plan.turns) {
    const std::array<PlannedRun, 2> runs = {TurnRunOf(input, devices.median, plan, turn),
                                            TurnRunOf(input, devices.p99, plan, turn)};
    need.Include(StagingOf(runs, input.profile));
  }
  return need;
}

/// Bytes of preload, all shards and staging, and the peak of the process. False if memory is
/// exceeded. Variants share preload and staging; turns may hold more than the preload buffer.
bool FillMemory(const PlanInput& input, const PlanRequest& request, const DeviceModels& devices,
                const Plan& plan, PlanCheck* check) {
  for (const PlannedShard& shard : ShardsOf(input.catalog, devices.deciding(), plan)) {
    check->parameter_bytes += shard.shard.bytes;
    if (shard.preloaded) check->preload_bytes += shard.shard.bytes;
  }
  const StagingNeed need = StagingOfAll(input, request, devices, plan);
  uint64_t held = check->preload_bytes;
  if (!plan.turns.empty()) {
    const uint64_t overhang = TurnOverhang(input, devices.deciding(), plan);
    held = std::max(held, AddSaturated(plan.turn_bytes, overhang));
  }
  check->staging_bytes = need.enough;
  bool fits = true;
  if (const auto shard_memory = ShardMemory(input, request, plan.length, plan.width)) {
    fits = held <= *shard_memory && need.least <= *shard_memory - held;
    check->staging_bytes = fits ? std::min(need.enough, *shard_memory - held) : need.least;
  }
  check->peak_bytes =
      AddSaturated(BytesBeforeShards(input, plan), AddSaturated(held, check->staging_bytes));
  return fits;
}

/// What a run of the plan is compared with, by medians.
PlanTimes TimesOf(const PlanInput& input, const DeviceModels& devices, const Plan& plan,
                  const PlannedRun& run, double latency_us) {
  const FixedTimes& fixed = devices.median.fixed();
  ColdTimes cold;
  if (plan.cold) cold = ColdTimesOf(input, devices.median, plan.layers);
  PlanTimes times;
  times.start_us = cold.start_us;
  times.open_io_us = cold.open_io_us;
  times.embed_io_us = fixed.embed_io_us + cold.embedding_us;
  times.embed_us = fixed.embed_us;
  times.layer_us = run.lane.layer_us;
  times.layer_p99_us = devices.p99.LayerUs(plan.width).value_or(0);
  if (run.lane.last_us != run.lane.layer_us) {
    times.last_layer_us = run.lane.last_us;
    times.last_layer_p99_us = devices.p99.LastLayerUs(plan.width).value_or(0);
  }
  times.head_us = fixed.head_us;
  times.stall_us = StallOf(run, cold.start_us, latency_us);
  cold.part_us.resize(plan.layers.size());  // the head's part goes
  times.layer_io_us = std::move(cold.part_us);
  for (const StreamedShard& shard : run.streamed)
    times.layer_io_us[shard.position] += shard.load_us;
  return times;
}

/// kData unless the plan, its turns and its variants can run on this model.
Status CheckFits(const PlanInput& input, const Plan& plan) {
  PlanBounds bounds;
  bounds.layers = input.catalog.layers;
  bounds.width = input.catalog.width;
  bounds.model = input.model;
  bounds.holds = [&](const ShardAtBits& shard) { return input.catalog.BytesOf(shard).has_value(); };
  const std::optional<PlanFault> fault = FindPlanFault(plan, bounds);
  if (!fault) return {};
  return Error{fault->kind, "plan: " + fault->text()}.Fix(RemedyFor(*fault));
}

/// kUsage unless the profile tells the times of the plan's layers, and of the shards of the plan,
/// its turns and its variants.
Status CheckTimesAreKnown(const DeviceModel& device, const Plan& plan) {
  if (!device.LayerUs(plan.width)) {
    return UsageError("profile: no compute time for width " + std::to_string(plan.width) +
                      ", which the plan uses; run sti-profile --widths");
  }
  std::set<uint32_t> all_bits;
  const auto add = [&](const Grid<uint32_t>& bits) {
    all_bits.insert(bits.values().begin(), bits.values().end());
  };
  add(plan.bits);
  for (const PlanTurn& turn : plan.turns) add(turn.bits);
  for (const Plan& variant : plan.variants) add(variant.bits);
  for (uint32_t bits : all_bits) {
    if (device.LoadUs(bits, 1)) continue;
    return UsageError("profile: no load time for " + std::to_string(bits) +
                      " bits, which the plan uses; run sti-profile again");
  }
  return {};
}

}  // namespace

PlanCheck EvaluatePlan(const PlanInput& input, const PlanRequest& request,
                       const DeviceModels& devices, const Plan& plan) {
  PlanCheck check;
  const DelayModel model = DelayModelFor(plan.strategy);
  check.fits_memory = FillMemory(input, request, devices, plan, &check);
  std::optional<uint64_t> staging;
  if (check.fits_memory) staging = check.staging_bytes;
  const auto [median, p99] = RunsOf(input, devices, plan);
  check.latency_us = LatencyOf(median, staging);
  check.p99_us = LatencyOf(p99, staging);
  check.times = TimesOf(input, devices, plan, median, check.latency_us);
  const PlannedRun& deciding = devices.risk == Risk::kP99 ? p99 : median;
  check.deciding_latency_us = devices.risk == Risk::kP99 ? check.p99_us : check.latency_us;

  const ComputeLane& lane = deciding.lane;
  if (plan.target_us) {
    check.slack_us = *plan.target_us - lane.compute_us();
  }
  const double slack_us = check.slack_us.value_or(0);
  const auto shards = ShardsOf(input.catalog, devices.deciding(), plan);
  if (model == DelayModel::kBudgets || model == DelayModel::kPipeline)
    check.aib_us = AibsOf(deciding, shards, slack_us, false);
  const bool in_budget = model != DelayModel::kBudgets || !plan.target_us ||
                         AibsValid(AibsOf(deciding, shards, slack_us, true));
  const bool in_time =
      !plan.target_us || check.deciding_latency_us <= *plan.target_us + kTimeTolerance_us;
  if (!check.fits_memory) {
    check.problem = "needs " + std::to_string(check.peak_bytes) + " bytes of memory";
  } else if (!in_time) {
    check.problem = "takes " + Ms(check.deciding_latency_us) + " of " + Ms(*plan.target_us);
  } else if (!in_budget) {
    check.problem = "overdraws an accumulated IO budget";
  }
  check.valid = check.problem.empty();
  const PredictedQuality quality = PredictQuality(input, plan, plan.bits);
  check.loss = quality.loss;
  check.accuracy = quality.accuracy;
  return check;
}

Result<PlanCheck> CheckPlan(const PlanInput& input, const PlanRequest& request, const Plan& plan) {
  STI_RETURN_IF_ERROR(ValidateCatalog(input.catalog));
  STI_RETURN_IF_ERROR(ValidateModel(input.info, input.catalog));
  STI_RETURN_IF_ERROR(CheckFits(input, plan));
  return JudgePlan(input, request, plan);
}

Result<PlanCheck> JudgePlan(const PlanInput& input, const PlanRequest& request, const Plan& plan) {
  STI_ASSIGN_OR_RETURN(DeviceModels devices,
                       DeviceModels::Make(input.profile, plan.length, request.judging.risk,
                                          {plan.freq, request.judging.interpolate}));
  STI_RETURN_IF_ERROR(CheckTimesAreKnown(devices.deciding(), plan));
  if (plan.cold) STI_RETURN_IF_ERROR(CheckColdIsKnown(input, devices.deciding()));
  Plan checked = plan;
  if (request.target_us) checked.target_us = request.target_us;
  return EvaluatePlan(input, request, devices, checked);
}

void FillFigures(const PlanCheck& check, Plan* plan) {
  plan->aib_us = check.aib_us;
  plan->slack_us = check.slack_us;
  plan->meets_target = check.valid;
  plan->predicted_latency_us = check.latency_us;
  plan->predicted_p99_us = check.p99_us;
  plan->predicted_peak_bytes = check.peak_bytes;
  plan->preload_bytes = check.preload_bytes;
  plan->parameter_bytes = check.parameter_bytes;
  plan->staging_bytes = check.staging_bytes;
  plan->times = check.times;
  plan->predicted_loss = check.loss;
  plan->predicted_accuracy = check.accuracy;
}

}  // namespace sti
