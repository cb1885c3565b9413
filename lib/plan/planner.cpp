#include "plan/planner.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/remedy.h"
#include "plan/judge.h"
#include "plan/search/context.h"
#include "plan/search/fixed_bits.h"
#include "plan/search/search.h"
#include "plan/search/turns.h"
#include "plan/text.h"

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
  context.Say("preload: " + std::to_string(plan.preload.size()) + " shards, " +
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
  /// Returns a time in which any submodel can be loaded and computed one after the other.
  [[nodiscard]] Result<double> AllAtFullFidelity() const {
    PlanRequest one = request_;
    one.min_accuracy.reset();
    one.target_us.reset();
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

/// Returns lengths and clocks of the plan and its variants; the plan's own first.
Result<std::vector<PlanningScope>> ScopesOf(const CheckedInput& input, uint32_t asked_length,
                                            std::vector<uint32_t> further_lengths,
                                            const std::vector<uint64_t>& clocks) {
  STI_ASSIGN_OR_RETURN(const uint32_t length, PlannedLength(input, asked_length));
  std::vector<uint32_t> lengths = std::move(further_lengths);
  lengths.push_back(length);
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  std::vector<PlanningScope> scopes;
  scopes.reserve(lengths.size() * std::max<size_t>(1, clocks.size()));
  for (uint32_t each : lengths) {
    if (clocks.empty()) scopes.push_back({each, 0, nullptr});
    for (uint64_t clock : clocks) scopes.push_back({each, clock, nullptr});
  }
  return scopes;
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
  STI_ASSIGN_OR_RETURN(std::vector<PlanningScope> scopes,
                       ScopesOf(input, request.length, request.further_lengths, request.clocks));

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

  // The plan itself: submodel, bits, preload, figures.
  STI_ASSIGN_OR_RETURN(const PlanningContext context,
                       PlanningContext::Make(input, resolved, scopes.front(), explain));
  STI_ASSIGN_OR_RETURN(Plan plan, PlanOne(context));

  // The turns: what changes from one to the next.
  PlanTurns(context, &plan);

  // Further lengths and clocks, which share the plan's preload buffer.
  std::vector<Plan> variants;
  for (size_t i = 1; i < scopes.size(); ++i) {
    scopes[i].host = &plan;
    STI_ASSIGN_OR_RETURN(const PlanningContext other,
                         PlanningContext::Make(input, resolved, scopes[i], explain));
    STI_ASSIGN_OR_RETURN(Plan variant, PlanOne(other));
    variants.push_back(std::move(variant));
  }
  plan.variants = std::move(variants);

  // The figures once more: now with variants and turns, which take memory too, and the target as
  // asked.
  if (request.target_us) plan.target_us = request.target_us;
  plan.staging_bytes = 0;  // not yet said of all together
  const Verdict verdict = Evaluate(input, request.judging, context.devices, plan);
  FillFigures(verdict, &plan);
  if (!verdict.fits_memory) {
    return InfeasibleError("the plan, its variants and turns need " +
                           std::to_string(verdict.peak_bytes) + " bytes together")
        .Fix(Remedy::kRaiseInRequest, "memory_bytes, lower turn_bytes or plan fewer lengths");
  }
  return plan;
}

}  // namespace sti
