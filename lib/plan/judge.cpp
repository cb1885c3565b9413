#include "plan/judge.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/remedy.h"
#include "plan/budget.h"
#include "plan/planned_run.h"
#include "plan/play/cold.h"
#include "plan/row_times.h"
#include "plan/search/value.h"
#include "plan/shard_room.h"
#include "plan/text.h"
#include "types/fields.h"
#include "types/plan_check.h"

namespace sti {
namespace {

/// A run at the median and at the 99th percentile.
using Runs = std::array<PlannedRun, 2>;

Runs RunsOf(const CheckedInput& input, const DeviceModels& devices, const PlanCore& plan,
            const PlanTurn* turn) {
  return {RunOf(input, devices.median, plan, turn), RunOf(input, devices.p99, plan, turn)};
}

/// Returns the staging that serves the plan, whose runs are `runs`, its variants and its turns.
StagingNeed StagingOfAll(const CheckedInput& input, const Judging& judging,
                         const DeviceModels& devices, const Plan& plan, const Runs& runs) {
  StagingNeed need = StagingOf(runs, input->profile);
  for (const PlanCore& variant : plan.variants) {
    const Result<DeviceModels> other = DevicesOf(input, judging, variant);
    // A variant whose times the profile cannot tell is refused where it is judged itself.
    if (other.ok())
      need.Include(StagingOf(RunsOf(input, *other, variant, nullptr), input->profile));
  }
  for (const PlanTurn& turn : plan.turns)
    need.Include(StagingOf(RunsOf(input, devices, plan, &turn), input->profile));
  return need;
}

/// Returns whether the shards that a run reads come while it can still give up on them.
bool LeavesTimeToGiveUp(const CheckedInput& input, const DeviceModels& devices,
                        const PlanCore& plan, const PlannedRun& run) {
  if (!plan.fallback || !plan.target_us) return true;
  const std::vector<double> give_up_us =
      GiveUpTimes(*plan.fallback, plan.layers, devices.p99.SlowestLayerUs(plan.width).value_or(0),
                  input->info.depth_layers);
  const std::vector<double> layer_io_us = run.StreamedIo();
  double io_us = run.lane.fixed.embed_io_us - run.wake_us;
  for (size_t k = 0; k < layer_io_us.size(); ++k) {
    io_us += layer_io_us[k];
    if (layer_io_us[k] > 0 && io_us > *plan.target_us - give_up_us[k] + kTimeTolerance_us)
      return false;
  }
  return true;
}

/// Fills in bytes of preload, all shards and staging, the peak of the process, and whether memory
/// holds them. Variants share preload and staging; turns may hold more than the preload buffer.
/// Returns the staging that latencies count on.
std::optional<uint64_t> FillMemory(const CheckedInput& input, const Judging& judging,
                                   const DeviceModels& devices, const Plan& plan, const Runs& runs,
                                   Verdict* verdict) {
  verdict->parameter_bytes = runs[0].all_bytes;
  verdict->preload_bytes = AddSaturated(runs[0].held_bytes, RowBytes(input, plan.words.size()));
  const StagingNeed need = StagingOfAll(input, judging, devices, plan, runs);
  if (plan.fallback) {
    verdict->fallback_bytes = AddSaturated(input->catalog.BytesOfAll(FallbackShards(plan)),
                                           FallbackRowBytes(input->memory, plan.Extent().tokens));
  }
  uint64_t held = AddSaturated(verdict->preload_bytes, verdict->fallback_bytes);
  if (!plan.turns.empty()) {
    const uint64_t overhang = TurnOverhang(input, devices.deciding(), plan);
    held = std::max(held, AddSaturated(plan.turn_bytes.value_or(0), overhang));
  }
  // A plan from elsewhere says what its runs may stage, unless they read all before they compute.
  const bool bounded = DelayModelFor(plan.strategy) != DelayModel::kSerial;
  const Staging staging = need.Within(bounded ? plan.staging_bytes : std::nullopt, held,
                                      ShardMemory(input->memory, judging, plan.Extent()));
  verdict->staging_bytes = staging.bytes;
  verdict->fits_memory = staging.fits;
  verdict->peak_bytes = AddSaturated(BytesBeforeShards(input->memory, plan.Extent()),
                                     AddSaturated(held, verdict->staging_bytes));
  if (!verdict->fits_memory) return std::nullopt;
  return verdict->staging_bytes;
}

/// Fills in the bytes of a turn. Returns the staging that its latencies count on: that of the plan,
/// which serves all turns, within what the memory leaves.
std::optional<uint64_t> FillTurnMemory(const CheckedInput& input, const Judging& judging,
                                       const DeviceModels& devices, const Plan& plan,
                                       const PlanTurn& turn, const Runs& runs, Verdict* verdict) {
  verdict->preload_bytes = turn.preload_bytes;
  for (const StreamedShard& read : runs[0].streamed) verdict->parameter_bytes += read.bytes;
  const uint64_t held = AddSaturated(std::max(plan.turn_bytes.value_or(0), turn.preload_bytes),
                                     OverhangOf(input, devices.deciding(), plan, turn, nullptr));
  const Staging staging =
      StagingOf(runs, input->profile)
          .Within(plan.staging_bytes, held, ShardMemory(input->memory, judging, plan.Extent()));
  verdict->fits_memory = staging.fits;
  if (!staging.fits) return std::nullopt;
  return staging.bytes;
}

/// Fills in budgets, and returns whether the run keeps them as `model` asks.
bool FillBudgets(const PlannedRun& run, DelayModel model, double slack_us, bool has_target,
                 Verdict* verdict) {
  const auto aibs = [&](double bonus_us, std::span<const double> layer_io_us) {
    return ComputeAibs(bonus_us + run.wake_us, slack_us, run.lane, layer_io_us);
  };
  if (model == DelayModel::kBudgets || model == DelayModel::kPipeline)
    verdict->aib_us = aibs(run.bonus_us, run.all_io_us);
  return model != DelayModel::kBudgets || !has_target || AibsValid(aibs(0, run.StreamedIo()));
}

/// Returns the bits of the shards that a plan runs, and those that its turns and variants run.
std::set<uint32_t> BitsOf(const Plan& plan) {
  std::set<uint32_t> all_bits;
  const auto add = [&](const Grid<uint32_t>& bits) {
    all_bits.insert(bits.values().begin(), bits.values().end());
  };
  add(plan.bits);
  for (const PlanTurn& turn : plan.turns) add(turn.bits);
  for (const PlanCore& variant : plan.variants) add(variant.bits);
  return all_bits;
}

/// Returns the device models for a plan, one of its variants or a level, which runs shards at
/// `all_bits`. kUsage unless the profile tells the times of its layers, of these shards, and of its
/// cold start.
Result<DeviceModels> KnownDevices(const CheckedInput& input, const Judging& judging,
                                  const PlanCore& plan, const std::set<uint32_t>& all_bits) {
  STI_ASSIGN_OR_RETURN(DeviceModels devices, DevicesOf(input, judging, plan));
  if (!devices.deciding().LayerUs(plan.width)) {
    return UsageError("no compute time for width " + std::to_string(plan.width) +
                      ", which the plan uses")
        .In(Source::kProfile)
        .Fix(Remedy::kMeasureTheseWidths);
  }
  for (uint32_t bits : all_bits) {
    if (devices.deciding().LoadUs(bits, 1)) continue;
    return UsageError("no load time for " + std::to_string(bits) + " bits, which the plan uses")
        .In(Source::kProfile)
        .Fix(Remedy::kMeasureAgain);
  }
  if (plan.cold) STI_RETURN_IF_ERROR(CheckColdIsKnown(input, devices.deciding()));
  return devices;
}

/// Returns them for a variant or a level of a plan that fits the model.
Result<DeviceModels> KnownDevices(const CheckedInput& input, const Judging& judging,
                                  const PlanCore& part) {
  return KnownDevices(input, judging, part, {part.bits.values().begin(), part.bits.values().end()});
}

std::vector<Verdict> TurnsOf(const CheckedInput& input, const Judging& judging,
                             const DeviceModels& devices, const Plan& plan) {
  std::vector<Verdict> verdicts;
  verdicts.reserve(plan.turns.size());
  for (const PlanTurn& turn : plan.turns)
    verdicts.push_back(Evaluate(input, judging, devices, plan, &turn));
  return verdicts;
}

/// Returns whether plans of a strategy are made even where they are late.
bool MayBeLate(Strategy strategy) {
  return strategy == Strategy::kStiPaper || strategy == Strategy::kRandom;
}

}  // namespace

DeviceModels ModelsForRun(const CheckedInput& input, const DeviceModels& for_target,
                          const PlanCore& plan, const PlanTurn* turn) {
  if (plan.target_us || input->profile.io_series.empty()) return for_target;
  const PlannedRun run = RunOf(input, for_target.median, plan, turn);
  return for_target.ForRunsOf(LatencyOf(run, std::nullopt), input->profile);
}

Verdict Evaluate(const CheckedInput& input, const Judging& judging, const DeviceModels& for_target,
                 const Plan& plan, const PlanTurn* turn) {
  const DeviceModels devices = ModelsForRun(input, for_target, plan, turn);
  const Runs runs = RunsOf(input, devices, plan, turn);
  const PlannedRun& deciding = runs[devices.risk == Risk::kP99 ? 1 : 0];
  Verdict verdict;
  const std::optional<uint64_t> staging =
      turn == nullptr ? FillMemory(input, judging, devices, plan, runs, &verdict)
                      : FillTurnMemory(input, judging, devices, plan, *turn, runs, &verdict);
  verdict.latency_us = LatencyOf(runs[0], staging);
  verdict.p99_us = LatencyOf(runs[1], staging);
  verdict.deciding_latency_us = devices.risk == Risk::kP99 ? verdict.p99_us : verdict.latency_us;
  std::optional<double> slack_us;
  if (plan.target_us) slack_us = *plan.target_us - deciding.lane.compute_us();
  // Turns run as a pipeline, whatever made the plan.
  const DelayModel model = turn == nullptr ? DelayModelFor(plan.strategy) : DelayModel::kBudgets;
  const bool in_budget =
      FillBudgets(deciding, model, slack_us.value_or(0), plan.target_us.has_value(), &verdict);
  const bool in_time =
      !plan.target_us || verdict.deciding_latency_us <= *plan.target_us + kTimeTolerance_us;
  if (!verdict.fits_memory) {
    verdict.problem = "needs " + std::to_string(verdict.peak_bytes) + " bytes of memory";
  } else if (!in_time) {
    verdict.problem = "takes " + Ms(verdict.deciding_latency_us) + " of " + Ms(*plan.target_us);
  } else if (!in_budget) {
    verdict.problem = "overdraws an accumulated IO budget";
  } else if (turn == nullptr && !LeavesTimeToGiveUp(input, devices, plan, deciding)) {
    verdict.problem = "waits for shards when its fallback would no longer be in time";
  }
  verdict.valid = verdict.problem.empty();
  if (turn == nullptr) {
    verdict.slack_us = slack_us;
    verdict.times = TimesOf(input, devices, plan, runs[0], verdict.latency_us);
  }
  verdict.quality = PredictQuality(input, plan, turn == nullptr ? plan.bits : turn->bits);
  return verdict;
}

Verdict EvaluateVariant(const CheckedInput& input, const Judging& judging,
                        const DeviceModels& for_target, const PlanCore& variant) {
  return Evaluate(input, judging, for_target, Plan{variant});
}

PredictedQuality WholeQuality(const Importance& importance, const ModelInfo& model) {
  const SubmodelScore& whole = importance.submodels.back();  // N x M at the most bits
  return QualityOf(importance, model, whole.loss, whole.accuracy);
}

Status CheckFits(const CheckedInput& input, const Plan& plan) {
  const ShardCatalog& catalog = input->catalog;
  PlanBounds bounds = BoundsOf(input->info);
  bounds.model = input->model;
  bounds.holds = [&](const ShardAtBits& shard) { return catalog.BytesOf(shard).has_value(); };
  const std::optional<PlanFault> fault = FindPlanFault(plan, bounds);
  if (!fault) return {};
  return Error{fault->kind, fault->text(), Source::kPlan}.Fix(RemedyFor(*fault));
}

Result<DeviceModels> CheckedDevices(const CheckedInput& input, const Judging& judging,
                                    const Plan& plan) {
  STI_RETURN_IF_ERROR(CheckFits(input, plan));
  return KnownDevices(input, judging, plan, BitsOf(plan));
}

Result<Verdict> CheckPlan(const PlanInput& input, const Judging& judging, const Plan& plan) {
  STI_ASSIGN_OR_RETURN(const CheckedInput checked, CheckedInput::Make(input));
  STI_ASSIGN_OR_RETURN(const DeviceModels devices, CheckedDevices(checked, judging, plan));
  return Evaluate(checked, judging, devices, plan);
}

Result<std::vector<Verdict>> CheckTurns(const PlanInput& input, const Judging& judging,
                                        const Plan& plan) {
  STI_ASSIGN_OR_RETURN(const CheckedInput checked, CheckedInput::Make(input));
  STI_ASSIGN_OR_RETURN(const DeviceModels devices, CheckedDevices(checked, judging, plan));
  return TurnsOf(checked, judging, devices, plan);
}

Result<Verdicts> JudgePlan(const PlanInput& input, const Judging& judging, const Plan& plan) {
  STI_ASSIGN_OR_RETURN(const CheckedInput checked, CheckedInput::Make(input));
  STI_ASSIGN_OR_RETURN(const DeviceModels devices, CheckedDevices(checked, judging, plan));
  Verdicts verdicts;
  verdicts.plan = Evaluate(checked, judging, devices, plan);
  for (const PlanCore& variant : plan.variants) {
    STI_ASSIGN_OR_RETURN(const DeviceModels its_own, KnownDevices(checked, judging, variant));
    verdicts.variants.push_back(EvaluateVariant(checked, judging, its_own, variant));
  }
  verdicts.turns = TurnsOf(checked, judging, devices, plan);
  if (!plan.cascade) return verdicts;
  for (const CascadeLevel& level : plan.cascade->levels) {
    const Result<DeviceModels> its_own = KnownDevices(checked, judging, level.plan);
    if (!its_own.ok()) return its_own.error();
  }
  verdicts.cascade = PriceCascade(checked, judging, devices, plan);
  return verdicts;
}

std::string Verdicts::problem() const {
  if (!plan.valid) return plan.problem;
  for (size_t i = 0; i < variants.size(); ++i) {
    if (!variants[i].valid) return "variant " + std::to_string(i + 1) + " " + variants[i].problem;
  }
  for (size_t i = 0; i < turns.size(); ++i) {
    if (!turns[i].valid) return "turn " + std::to_string(i + 1) + " " + turns[i].problem;
  }
  if (cascade && !cascade->problem.empty()) return "the cascade " + cascade->problem;
  return "";
}

void FillFigures(const Verdict& verdict, PlanCore* plan) {
  plan->aib_us = verdict.aib_us;
  plan->slack_us = verdict.slack_us;
  plan->meets_target = verdict.valid;
  plan->predicted_latency_us = verdict.latency_us;
  plan->predicted_p99_us = verdict.p99_us;
  plan->predicted_peak_bytes = verdict.peak_bytes;
  plan->preload_bytes = verdict.preload_bytes;
  plan->parameter_bytes = verdict.parameter_bytes;
  plan->staging_bytes = UnlessZero(verdict.staging_bytes);
  plan->times = verdict.times;
  plan->quality = verdict.quality;
  if (plan->fallback) plan->fallback->bytes = verdict.fallback_bytes;
}

void FillFigures(const Verdict& verdict, PlanTurn* turn) {
  turn->read_bytes = verdict.parameter_bytes;
  turn->aib_us = verdict.aib_us;
  turn->predicted_latency_us = verdict.latency_us;
  turn->predicted_p99_us = verdict.p99_us;
  turn->quality = verdict.quality;
}

Result<std::string> FillTogether(const CheckedInput& input, const Judging& judging, Plan* plan) {
  std::string problem;
  const auto note = [&](const std::string& who, const Verdict& verdict) {
    const bool late = !verdict.valid && !MayBeLate(plan->strategy);
    if (problem.empty() && (late || !verdict.fits_memory)) problem = who + verdict.problem;
  };
  STI_ASSIGN_OR_RETURN(const DeviceModels devices, DevicesOf(input, judging, *plan));
  plan->staging_bytes.reset();  // not yet said of all together
  const Verdict all = Evaluate(input, judging, devices, *plan);
  FillFigures(all, plan);
  if (!all.fits_memory) {
    return "the plan, its variants and turns need " + std::to_string(all.peak_bytes) +
           " bytes together";
  }
  note("with its variants and turns the plan ", all);
  for (PlanCore& variant : plan->variants) {
    STI_ASSIGN_OR_RETURN(const DeviceModels its_own, DevicesOf(input, judging, variant));
    variant.staging_bytes = std::min(variant.staging_bytes, plan->staging_bytes);
    const Verdict verdict = EvaluateVariant(input, judging, its_own, variant);
    FillFigures(verdict, &variant);
    note("the variant for " + std::to_string(variant.length) + " tokens ", verdict);
  }
  for (PlanTurn& turn : plan->turns) {
    if (&turn == &plan->turns.front()) {  // the plan itself
      turn.aib_us = plan->aib_us;
      turn.predicted_latency_us = plan->predicted_latency_us;
      turn.predicted_p99_us = plan->predicted_p99_us;
      continue;
    }
    const Verdict verdict = Evaluate(input, judging, devices, *plan, &turn);
    FillFigures(verdict, &turn);
    note("a later turn ", verdict);
  }
  return problem;
}

}  // namespace sti
