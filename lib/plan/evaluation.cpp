#include "plan/evaluation.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "plan/aib.h"
#include "plan/cold.h"
#include "plan/planned_run.h"
#include "plan/shard_costs.h"
#include "plan/submodels.h"
#include "plan/text.h"
#include "plan/turn_run.h"
#include "plan/value.h"

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

/// Which shard, if any, the plan spells in a way this model or device cannot serve.
Status CheckShards(const PlanInput& input, const DeviceModel& device, const Plan& plan) {
  if (plan.slices.columns() != plan.width || plan.bits.columns() != plan.width) {
    return DataError("plan: a row of slices or bits is not " + std::to_string(plan.width) +
                     " long; correct it or run sti-plan again");
  }
  std::set<ShardId> seen;
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const ShardAtBits shard{plan.Id(k, i), plan.bits.At(k, i)};
      const auto bytes = input.catalog.BytesOf(shard);
      if (!bytes || !seen.insert(shard.id).second) {
        return DataError("plan: " + NameOf(shard) +
                         " is not in the model, or twice in the plan; run sti-plan again");
      }
      if (!device.LoadUs(shard.bits, *bytes)) {
        return UsageError("profile: no load time for " + std::to_string(shard.bits) +
                          " bits, which the plan uses; run sti-profile again");
      }
    }
  }
  return {};
}

Status CheckPreload(const Plan& plan) {
  std::map<ShardId, uint32_t> not_preloaded;
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) not_preloaded[plan.Id(k, i)] = plan.bits.At(k, i);
  }
  for (const ShardAtBits& shard : plan.preload) {
    auto found = not_preloaded.find(shard.id);
    if (found == not_preloaded.end() || found->second != shard.bits) {
      return DataError("plan: preload names " + NameOf(shard) +
                       ", which the plan does not run, or names it twice; correct it");
    }
    not_preloaded.erase(found);
  }
  return {};
}

/// What memory is counted by; CheckTurns looks at the rest.
Status CheckTurnRows(const PlanInput& input, const Plan& plan) {
  for (const PlanTurn& turn : plan.turns) {
    bool fits = turn.bits.rows() == plan.layers.size() && turn.bits.columns() == plan.width;
    for (const ShardAtBits& shard : turn.preload)
      fits = fits && input.catalog.BytesOf(shard).has_value();
    if (!fits) return DataError("plan: a turn does not fit its shards; run sti-plan again");
  }
  return {};
}

Status CheckBelongs(const PlanInput& input, const Plan& plan) {
  if (!plan.model.empty() && !input.model.empty() && plan.model != input.model) {
    return DataError("plan: it was made for model " + plan.model.Prefix() + ", not " +
                     input.model.Prefix() + "; run sti-plan on this model");
  }
  if (plan.layers.empty() || plan.width == 0 || plan.slices.rows() != plan.layers.size() ||
      plan.bits.rows() != plan.layers.size())
    return DataError("plan: layers, slices and bits do not agree; run sti-plan again");
  const bool ascending = std::adjacent_find(plan.layers.begin(), plan.layers.end(),
                                            std::greater_equal<>()) == plan.layers.end();
  if (!ascending) return DataError("plan: layers do not ascend; correct them");
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
  STI_RETURN_IF_ERROR(CheckBelongs(input, plan));
  STI_ASSIGN_OR_RETURN(DeviceModels devices,
                       DeviceModels::Make(input.profile, plan.length, request.judging.risk,
                                          {plan.freq, request.judging.interpolate}));
  if (!devices.deciding().LayerUs(plan.width)) {
    return UsageError("profile: no compute time for width " + std::to_string(plan.width) +
                      ", which the plan uses; run sti-profile --widths");
  }
  STI_RETURN_IF_ERROR(CheckShards(input, devices.deciding(), plan));
  STI_RETURN_IF_ERROR(CheckPreload(plan));
  STI_RETURN_IF_ERROR(CheckTurnRows(input, plan));
  if (plan.cold) STI_RETURN_IF_ERROR(CheckColdIsKnown(input, devices.deciding()));
  for (const Plan& variant : plan.variants) {
    if (variant.cold != plan.cold)
      return DataError("plan: of it and a variant only one starts cold; run sti-plan again");
    STI_RETURN_IF_ERROR(CheckBelongs(input, variant));
    STI_RETURN_IF_ERROR(CheckShards(input, devices.deciding(), variant));
  }
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
