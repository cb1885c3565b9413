#include "plan/planner.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "base/remedy.h"
#include "plan/judge.h"
#include "plan/row_times.h"
#include "plan/search/cascade_choice.h"
#include "plan/search/context.h"
#include "plan/search/fallback.h"
#include "plan/search/fixed_bits.h"
#include "plan/search/measured_cascades.h"
#include "plan/search/search.h"
#include "plan/search/turns.h"
#include "plan/text.h"
#include "types/plan_check.h"

namespace sti {
namespace {

/// Targets of a search by halves are this close, relative to the target.
constexpr double kTargetPrecision = 1e-3;

void SayTimes(const PlanningContext& context) {
  const DeviceModel& device = context.devices.deciding();
  const bool p99 = context.request.judging.risk == Risk::kP99;
  const double wake_us = context.request.wake_us;
  context.Say("times: " + std::string(p99 ? "p99" : "median") + " at length " +
              std::to_string(device.length()) + " for " + std::to_string(context.scope.length) +
              " tokens; T_fixed " + Ms(device.fixed().compute_us()) + ", embedding rows " +
              Ms(device.fixed().embed_io_us) + " of IO" +
              (wake_us > 0 ? ", woken " + Ms(wake_us) + " ahead" : ""));
}

void SayFigures(const PlanningContext& context, const Plan& plan, const Verdict& verdict) {
  context.Say("preload: " + Counted(plan.preload.size(), "shard") + ", " +
              std::to_string(plan.preload_bytes) + " of " +
              std::to_string(context.request.preload_bytes) + " bytes");
  context.Say("prediction: " + Ms(plan.predicted_latency_us) + " median, " +
              Ms(plan.predicted_p99_us) + " p99, peak " +
              std::to_string(plan.predicted_peak_bytes) + " bytes" +
              (plan.quality.accuracy ? ", accuracy " + Fixed4(*plan.quality.accuracy) : "") +
              (plan.quality.agreement ? ", agreement " + Fixed4(*plan.quality.agreement) : "") +
              (verdict.valid ? "" : "; misses: " + verdict.problem));
}

/// Returns the plan of one scope with its figures, without turns and variants.
Result<Plan> PlanOne(const PlanningContext& context) {
  SayTimes(context);
  const bool budgets = DelayModelFor(context.request.strategy) == DelayModel::kBudgets;
  STI_ASSIGN_OR_RETURN(Plan plan, budgets ? SearchPlan(context) : PlanFixedBits(context));
  const Verdict verdict = Evaluate(context.input, context.request.judging, context.devices, plan);
  FillFigures(verdict, &plan);
  SayFigures(context, plan, verdict);
  if (context.request.io_budget_bytes && !verdict.valid) {
    return InfeasibleError("a plan that spends this IO budget " + verdict.problem)
        .Fix(Remedy::kRaiseInRequest, "target_us or lower io_budget_bytes");
  }
  return plan;
}

/// Finds the least target whose plan is predicted to reach request.min_accuracy.
class AccuracySearch {
 public:
  AccuracySearch(const CheckedInput& input, PlanRequest request, const PlanningScope& scope)
      : input_(input), request_(std::move(request)), scope_(scope) {}

  Result<double> Run() {
    const double accuracy = *request_.min_accuracy;
    STI_ASSIGN_OR_RETURN(double high_us, AllAtFullFidelity());
    if (request_.target_us) high_us = std::min(high_us, *request_.target_us);
    STI_ASSIGN_OR_RETURN(const double best, AccuracyAt(high_us));
    if (best < accuracy) {
      std::string message = "no plan reaches an accuracy of " + Fixed4(accuracy);
      if (request_.target_us) message += " within " + Ms(*request_.target_us);
      const char* less = request_.target_us ? "min_accuracy or raise target_us" : "min_accuracy";
      return InfeasibleError(message + "; the best is predicted to have " + Fixed4(best))
          .Fix(Remedy::kLowerInRequest, less);
    }
    double low_us = 0;
    while (high_us - low_us > std::max(1.0, kTargetPrecision * high_us)) {
      const double middle_us = (low_us + high_us) / 2;
      const Result<double> reached = AccuracyAt(middle_us);
      if (!reached.ok() && reached.error().kind != ErrorKind::kInfeasible) return reached.error();
      (reached.ok() && *reached >= accuracy ? high_us : low_us) = middle_us;
    }
    return high_us;
  }

 private:
  /// Returns a time in which any submodel can be loaded and computed one after the other. What
  /// else is asked for takes no longer, and has no place in such a plan.
  [[nodiscard]] Result<double> AllAtFullFidelity() const {
    PlanRequest one = request_;
    one.min_accuracy.reset();
    one.target_us.reset();
    one.wake_us = 0;
    one.turns = 0;
    one.turn_bytes.reset();
    one.io_budget_bytes.reset();
    one.strategy = Strategy::kLoadExec;
    one.submodel = {input_->info.shape.layers, input_->info.shape.width};
    if (request_.submodel) one.submodel = request_.submodel;
    one.uniform_bits = input_->catalog.bits.back();
    one.judging.memory_bytes.reset();
    STI_RETURN_IF_ERROR(ValidateRequest(one));
    STI_ASSIGN_OR_RETURN(const Plan plan, PlanFor(one));
    return std::ceil(plan.predicted_p99_us);
  }

  [[nodiscard]] Result<double> AccuracyAt(double target_us) const {
    PlanRequest one = request_;
    one.target_us = target_us;
    STI_ASSIGN_OR_RETURN(const Plan plan, PlanFor(one));
    if (plan.quality.agreement) return *request_.full_accuracy - (1 - *plan.quality.agreement);
    if (!plan.quality.accuracy) {
      return UsageError("a least accuracy needs A(n, m) of the submodels")
          .Fix(Remedy::kMeasureSubmodels);
    }
    return *plan.quality.accuracy;
  }

  [[nodiscard]] Result<Plan> PlanFor(const PlanRequest& one) const {
    STI_ASSIGN_OR_RETURN(const PlanningContext context,
                         PlanningContext::Make(input_, one, scope_, nullptr));
    return PlanOne(context);
  }

  const CheckedInput& input_;
  const PlanRequest request_;
  const PlanningScope scope_;
};

/// Returns kUsage if the importance tells the agreement with the full model where an accuracy is
/// asked for, or the other way round.
Status CheckAccuracyIsKnown(const CheckedInput& input, const PlanRequest& request) {
  const bool by_kl = input->importance != nullptr && input->importance->metric == "kl";
  if (by_kl && !request.full_accuracy) {
    return UsageError(
               "an importance measured by kl tells how often a plan agrees with the full model, "
               "not how often it is right")
        .Fix(Remedy::kGiveInRequest, "full_accuracy, or drop min_accuracy");
  }
  if (!by_kl && request.full_accuracy) {
    return UsageError("the full model's accuracy says nothing beside an importance with labels")
        .Fix(Remedy::kDropFromRequest, "full_accuracy");
  }
  return {};
}

/// Returns whether a plan that is asked for no length serves texts as they come, of any length.
bool ServesAllLengths(const PlanRequest& request) {
  return request.length == 0 && request.further_lengths.empty() &&
         request.strategy == Strategy::kSti && !request.cold && !request.io_budget_bytes &&
         !request.cascade;
}

/// Returns lengths and clocks of the plan and its variants; the plan's own first.
Result<std::vector<PlanningScope>> ScopesOf(const CheckedInput& input, const PlanRequest& request) {
  STI_ASSIGN_OR_RETURN(const uint32_t length, PlannedLength(input, request.length));
  const size_t clocks = std::max<size_t>(1, request.clocks.size());
  std::vector<uint32_t> lengths = request.further_lengths;
  lengths.push_back(length);
  if (ServesAllLengths(request)) {
    for (const ComputeSample& sample : input->profile.compute)
      lengths.push_back(std::min(sample.length, length));
  }
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  lengths.resize(std::min(lengths.size(), std::max<size_t>(1, kMostPlans / clocks)));
  std::vector<PlanningScope> scopes;
  scopes.reserve(lengths.size() * clocks);
  for (uint32_t each : lengths) {
    if (request.clocks.empty()) scopes.push_back({.length = each, .clock = 0});
    for (uint64_t clock : request.clocks) scopes.push_back({.length = each, .clock = clock});
  }
  return scopes;
}

/// Returns the plan of a further scope, which names its host.
Result<Plan> PlanVariant(const CheckedInput& input, const PlanRequest& request,
                         const PlanningScope& scope, std::vector<std::string>* explain) {
  STI_ASSIGN_OR_RETURN(const PlanningContext context,
                       PlanningContext::Make(input, request, scope, explain));
  return PlanOne(context);
}

/// Gives `host` a variant for each scope but the first, its own. They share its preload buffer. A
/// length that nobody has asked for is left out where there is no plan for it.
Status PlanVariants(const CheckedInput& input, const PlanRequest& request,
                    std::vector<PlanningScope> scopes, std::vector<std::string>* explain,
                    Plan* host) {
  host->variants.reserve(scopes.size() - 1);
  for (size_t i = 1; i < scopes.size(); ++i) {
    scopes[i].host = host;
    Result<Plan> variant = PlanVariant(input, request, scopes[i], explain);
    if (variant.ok()) {
      host->variants.push_back(std::move(*variant));
      continue;
    }
    if (!ServesAllLengths(request) || scopes[i].length == host->length) return variant.error();
    if (explain != nullptr) {
      explain->push_back("no variant of " + std::to_string(scopes[i].length) +
                         " tokens: " + variant.error().what);
    }
  }
  return {};
}

bool PreloadsRows(const PlanRequest& request) {
  const bool by_worth = request.strategy == Strategy::kSti || request.strategy == Strategy::kTabi;
  return by_worth && !request.cold && request.turns == 0 && !request.io_budget_bytes &&
         request.preload_bytes > 0;
}

void SayWords(const CheckedInput& input, size_t words, std::vector<std::string>* explain) {
  if (words == 0 || explain == nullptr) return;
  explain->push_back("rows: " + std::to_string(words) + " words in " +
                     std::to_string(RowBytes(input, words)) + " bytes of the preload buffer");
}

/// Says of each scope how many words' rows are in the preload buffer: as many as are worth it for
/// the plan itself.
Status ChooseWords(const CheckedInput& input, const PlanRequest& request,
                   std::vector<PlanningScope>* scopes, std::vector<std::string>* explain) {
  const PlanningScope& main = scopes->front();
  STI_ASSIGN_OR_RETURN(const DeviceModels devices,
                       DeviceModels::Make(input->profile, main.length, main.clock, request.judging,
                                          request.target_us));
  const uint64_t left =
      request.preload_bytes - std::min(request.preload_bytes, main.fallback_bytes);
  const size_t words = WordsToPreload(input, devices, left, main.length);
  for (PlanningScope& scope : *scopes) scope.words = words;
  SayWords(input, words, explain);
  return {};
}

/// Chooses fallbacks, and the words that they know. Where the buffer does not hold both, words go.
Status ChooseForGuarantee(const CheckedInput& input, const PlanRequest& request,
                          std::vector<PlanningScope>* scopes, std::vector<std::string>* explain) {
  const size_t words = WordsForFallbacks(input, request.preload_bytes);
  if (words == 0) return ChooseFallbacks(input, request, scopes, explain);
  PlanRequest rest = request;
  rest.preload_bytes -= RowBytes(input, words);
  std::vector<PlanningScope> with_words = *scopes;
  std::vector<std::string> lines;
  if (!ChooseFallbacks(input, rest, &with_words, &lines).ok())
    return ChooseFallbacks(input, request, scopes, explain);
  if (explain != nullptr) explain->insert(explain->end(), lines.begin(), lines.end());
  for (PlanningScope& scope : with_words) scope.words = words;
  *scopes = std::move(with_words);
  SayWords(input, words, explain);
  return {};
}

/// Returns the bits of all shards that a plan runs.
double SumOfBits(const Plan& plan) {
  return std::accumulate(plan.bits.values().begin(), plan.bits.values().end(), 0.0);
}

/// Says of each fallback what it costs: the bits that the plan would have without it, minus those
/// that it has. A plan that is possible with a fallback is possible without.
Status FillCosts(const CheckedInput& input, const PlanRequest& request,
                 std::vector<std::string>* explain, Plan* plan) {
  PlanRequest without = request;
  without.guarantee = false;
  STI_ASSIGN_OR_RETURN(const Plan free, MakePlan(input, without));
  plan->fallback->cost_bits = SumOfBits(free) - SumOfBits(*plan);
  for (Plan& variant : plan->variants) {
    const auto same = std::find_if(free.variants.begin(), free.variants.end(), [&](const Plan& it) {
      return it.length == variant.length && it.freq == variant.freq;
    });
    if (same != free.variants.end())
      variant.fallback->cost_bits = SumOfBits(*same) - SumOfBits(variant);
  }
  if (explain != nullptr) {
    explain->push_back(
        "guarantee: costs " + FixedPoint(plan->fallback->cost_bits, 0) + " of " +
        FixedPoint(SumOfBits(free), 0) + " bits of shards" +
        (free.quality.accuracy ? "; without it accuracy " + Fixed4(*free.quality.accuracy) : ""));
  }
  return {};
}

/// Returns whether plans of a strategy are made even where they are late.
bool MayBeLate(Strategy strategy) {
  return strategy == Strategy::kStiPaper || strategy == Strategy::kRandom;
}

/// Gives a plan, its variants and its turns the figures that they have together, with one arena in
/// one memory. Returns why one of them does not do there; empty if all do.
Result<std::string> FillTogether(const CheckedInput& input, const Judging& judging, Plan* plan) {
  std::string problem;
  const auto note = [&](const std::string& who, const Verdict& verdict) {
    const bool late = !verdict.valid && !MayBeLate(plan->strategy);
    if (problem.empty() && (late || !verdict.fits_memory)) problem = who + verdict.problem;
  };
  STI_ASSIGN_OR_RETURN(const DeviceModels devices, DevicesOf(input, judging, *plan));
  plan->staging_bytes = 0;  // not yet said of all together
  const Verdict all = Evaluate(input, judging, devices, *plan);
  FillFigures(all, plan);
  if (!all.fits_memory) {
    return "the plan, its variants and turns need " + std::to_string(all.peak_bytes) +
           " bytes together";
  }
  note("with its variants and turns the plan ", all);
  for (Plan& variant : plan->variants) {
    STI_ASSIGN_OR_RETURN(const DeviceModels its_own, DevicesOf(input, judging, variant));
    variant.staging_bytes = std::min(variant.staging_bytes, plan->staging_bytes);
    const Verdict verdict = Evaluate(input, judging, its_own, variant);
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

/// Makes the plan of the first scope, with the others as variants. `request` is as asked,
/// `resolved` has a target.
Result<Plan> PlanScopes(const CheckedInput& input, const PlanRequest& request,
                        const PlanRequest& resolved, const std::vector<PlanningScope>& scopes,
                        std::vector<std::string>* explain) {
  // The plan itself: submodel, bits, preload, figures.
  STI_ASSIGN_OR_RETURN(const PlanningContext context,
                       PlanningContext::Make(input, resolved, scopes.front(), explain));
  STI_ASSIGN_OR_RETURN(Plan plan, PlanOne(context));

  // The turns: what changes from one to the next.
  PlanTurns(context, &plan);

  STI_RETURN_IF_ERROR(PlanVariants(input, resolved, scopes, explain, &plan));

  // The figures once more: now with variants and turns, which take memory too, and the target as
  // asked.
  if (request.target_us) plan.target_us = request.target_us;
  STI_ASSIGN_OR_RETURN(std::string problem, FillTogether(input, request.judging, &plan));
  while (!problem.empty() && ServesAllLengths(request) && !plan.variants.empty() &&
         plan.variants.back().length < plan.length) {
    plan.variants.pop_back();  // the shortest, which nobody has asked for
    STI_ASSIGN_OR_RETURN(problem, FillTogether(input, request.judging, &plan));
  }
  if (problem.empty()) return plan;
  return InfeasibleError(problem).Fix(Remedy::kRaiseInRequest,
                                      "memory_bytes, lower turn_bytes or plan fewer lengths");
}

/// Returns the accuracy that a cascade must reach where nobody has asked for one: that of the best
/// plan without a cascade, or where none is predicted for it, of the best level alone. kInfeasible
/// if nothing alone meets the target.
Result<double> AccuracyWithout(const MeasuredCascades& measured) {
  const PlanningContext& context = measured.context();
  PlanRequest alone = context.request;
  alone.cascade = false;
  alone.length = context.scope.length;
  STI_ASSIGN_OR_RETURN(const Plan plan, MakePlan(context.input, alone));
  const std::optional<double> accuracy =
      plan.quality.accuracy ? plan.quality.accuracy : measured.BestAlone();
  context.Say("cascade: the best plan without one takes " + Ms(plan.predicted_latency_us) +
              " in the median" + (accuracy ? ", accuracy " + Fixed4(*accuracy) : ""));
  return accuracy.value_or(0);
}

/// Makes the plan of one scope with the cascade that the request asks for.
Result<Plan> PlanCascadeIn(const CheckedInput& input, const PlanRequest& request,
                           const PlanningScope& scope, std::vector<std::string>* explain) {
  STI_ASSIGN_OR_RETURN(const PlanningContext context,
                       PlanningContext::Make(input, request, scope, explain));
  SayTimes(context);
  STI_ASSIGN_OR_RETURN(const MeasuredCascades measured, MeasuredCascades::Make(context));
  if (request.strategy == Strategy::kTabi) {
    STI_ASSIGN_OR_RETURN(const CascadeCandidate choice,
                         CascadeByTabi(measured, request.min_accuracy));
    return measured.PlanOf(choice);
  }
  double least_accuracy = request.min_accuracy.value_or(0);
  if (!request.min_accuracy) {
    STI_ASSIGN_OR_RETURN(least_accuracy, AccuracyWithout(measured));
  }
  STI_ASSIGN_OR_RETURN(const CascadeCandidate choice, FastestCascade(measured, least_accuracy));
  return measured.PlanOf(choice);
}

/// Makes a plan with a cascade. Its levels share the rows that are worth more than shards.
Result<Plan> PlanWithCascade(const CheckedInput& input, const PlanRequest& request,
                             std::vector<PlanningScope> scopes, std::vector<std::string>* explain) {
  STI_RETURN_IF_ERROR(CheckCascadesAreMeasured(input));
  scopes.resize(1);
  if (PreloadsRows(request)) STI_RETURN_IF_ERROR(ChooseWords(input, request, &scopes, explain));
  Result<Plan> plan = PlanCascadeIn(input, request, scopes.front(), explain);
  if (plan.ok() || scopes.front().words == 0) return plan;
  scopes.front().words = 0;  // shards need the whole buffer
  return PlanCascadeIn(input, request, scopes.front(), explain);
}

/// Returns the plan, or an error if its figures are beyond what a plan file may hold: then those of
/// the profile add up to more than anybody waits for. Of no model it is never a file.
Result<Plan> FitForAFile(const CheckedInput& input, Result<Plan> plan) {
  if (!plan.ok() || input->model.empty()) return plan;
  const std::optional<PlanFault> fault = FindPlanFault(*plan, {});
  if (!fault) return plan;
  return DataError("its times make a plan of which " + fault->text())
      .In(Source::kProfile)
      .Fix(Remedy::kCorrectProfile);
}

}  // namespace

Result<Plan> MakePlan(const PlanInput& input, const PlanRequest& request,
                      std::vector<std::string>* explain) {
  STI_ASSIGN_OR_RETURN(const CheckedInput checked, CheckedInput::Make(input));
  return MakePlan(checked, request, explain);
}

Result<Plan> MakePlan(const CheckedInput& input, const PlanRequest& request,
                      std::vector<std::string>* explain) {
  STI_RETURN_IF_ERROR(ValidateRequest(request));

  // Beyond this point, neither request nor input is validated any more.
  STI_ASSIGN_OR_RETURN(std::vector<PlanningScope> scopes, ScopesOf(input, request));

  if (request.cascade)
    return FitForAFile(input, PlanWithCascade(input, request, std::move(scopes), explain));

  // A least accuracy becomes a target.
  PlanRequest resolved = request;
  if (request.min_accuracy) {
    STI_RETURN_IF_ERROR(CheckAccuracyIsKnown(input, request));
    STI_ASSIGN_OR_RETURN(const double target_us,
                         AccuracySearch(input, request, scopes.front()).Run());
    resolved.target_us = target_us;
    if (explain != nullptr) {
      explain->push_back("accuracy: " + Fixed4(*request.min_accuracy) +
                         " takes a target of at least " + MsUp(target_us));
    }
  }

  // Others share the buffer with the preloaded shards: fallbacks and the words that they know, or
  // rows of words that are worth more than shards.
  if (request.guarantee) {
    STI_RETURN_IF_ERROR(ChooseForGuarantee(input, resolved, &scopes, explain));
  } else if (PreloadsRows(request)) {
    STI_RETURN_IF_ERROR(ChooseWords(input, resolved, &scopes, explain));
  }

  Result<Plan> plan = PlanScopes(input, request, resolved, scopes, explain);
  if (!plan.ok() && scopes.front().words > 0) {
    // Where shards need the whole buffer, rows have no place in it.
    for (PlanningScope& scope : scopes) scope.words = 0;
    plan = PlanScopes(input, request, resolved, scopes, explain);
  }
  if (plan.ok() && request.guarantee)
    STI_RETURN_IF_ERROR(FillCosts(input, request, explain, &*plan));
  return FitForAFile(input, std::move(plan));
}

}  // namespace sti
