#include "plan/planner.h"

#include <algorithm>
#include <cmath>

#include "plan/planning.h"
#include "plan/text.h"
#include "plan/turns.h"

namespace sti {
namespace {

/// Targets of a search by halves are this close, relative to the target.
constexpr double kTargetPrecision = 1e-3;

void SayTimes(const Planning& planning) {
  const DeviceModel& device = planning.devices.deciding();
  planning.Say(
      "times: " + std::string(planning.request.judging.risk == Risk::kP99 ? "p99" : "median") +
      " at length " + std::to_string(device.length()) + " for " +
      std::to_string(planning.scope.length) + " tokens; T_fixed " +
      Ms(device.fixed().compute_us()) + ", embedding rows " + Ms(device.fixed().embed_io_us) +
      " of IO" +
      (planning.request.wake_us > 0 ? ", woken " + Ms(planning.request.wake_us) + " ahead" : ""));
}

/// One plan for one length and clock, with its figures.
Result<Plan> PlanOne(const PlanInput& input, const PlanRequest& request, const PlanningScope& scope,
                     std::vector<std::string>* explain) {
  STI_ASSIGN_OR_RETURN(const Planning planning, Planning::Prepare(input, request, scope, explain));
  SayTimes(planning);
  const bool elastic = DelayModelFor(request.strategy) == DelayModel::kBudgets;
  STI_ASSIGN_OR_RETURN(Plan plan, elastic ? PlanElastic(planning) : PlanBaseline(planning));
  const PlanCheck check = EvaluatePlan(input, request, planning.devices, plan);
  FillFigures(check, &plan);
  planning.Say("preload: " + std::to_string(plan.preload.size()) + " shards, " +
               std::to_string(plan.preload_bytes) + " of " + std::to_string(request.preload_bytes) +
               " bytes");
  planning.Say("prediction: " + Ms(plan.predicted_latency_us) + " median, " +
               Ms(plan.predicted_p99_us) + " p99, peak " +
               std::to_string(plan.predicted_peak_bytes) + " bytes" +
               (plan.predicted_accuracy ? ", accuracy " + Fixed4(*plan.predicted_accuracy) : "") +
               (check.valid ? "" : "; misses: " + check.problem));
  if (scope.host == nullptr) PlanTurns(planning, &plan);
  return plan;
}

/// The least target whose plan is predicted to reach request.min_accuracy.
class AccuracySearch {
 public:
  AccuracySearch(const PlanInput& input, const PlanRequest& request, const PlanningScope& scope)
      : input_(input), request_(request), scope_(scope) {}

  Result<double> Run() {
    const double accuracy = *request_.min_accuracy;
    STI_ASSIGN_OR_RETURN(double high_us, AllAtFullFidelity());
    if (request_.target_us) high_us = std::min(high_us, *request_.target_us);
    STI_ASSIGN_OR_RETURN(const double best, AccuracyAt(high_us));
    if (best < accuracy) {
      std::string message = "no plan reaches an accuracy of " + Fixed4(accuracy);
      if (request_.target_us) message += " within " + Ms(*request_.target_us);
      return InfeasibleError(message + "; the best is predicted to have " + Fixed4(best) +
                             "; lower --min-accuracy" +
                             (request_.target_us ? " or raise --target" : ""));
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
  /// A time in which any submodel can be loaded and computed one after the other.
  Result<double> AllAtFullFidelity() const {
    PlanRequest request = request_;
    request.min_accuracy.reset();
    request.target_us.reset();
    request.strategy = Strategy::kLoadExec;
    request.submodel = {input_.info.shape.layers, input_.info.shape.width};
    if (request_.submodel) request.submodel = request_.submodel;
    request.uniform_bits = input_.catalog.bits.back();
    request.judging.memory_bytes.reset();
    STI_ASSIGN_OR_RETURN(const Plan plan, PlanOne(input_, request, scope_, nullptr));
    return std::ceil(plan.predicted_p99_us);
  }

  Result<double> AccuracyAt(double target_us) const {
    PlanRequest request = request_;
    request.target_us = target_us;
    request.turns = 0;
    STI_ASSIGN_OR_RETURN(const Plan plan, PlanOne(input_, request, scope_, nullptr));
    if (!plan.predicted_accuracy) {
      return UsageError(
          "--min-accuracy needs A(n, m) of the submodels; run sti-importance --submodels and give "
          "--importance");
    }
    return *plan.predicted_accuracy;
  }

  const PlanInput& input_;
  const PlanRequest& request_;
  const PlanningScope& scope_;
};

/// The request with the target that its accuracy needs.
Result<PlanRequest> WithTarget(const PlanInput& input, const PlanRequest& request,
                               const PlanningScope& scope, std::vector<std::string>* explain) {
  if (!request.min_accuracy) return request;
  if (request.strategy != Strategy::kSti)
    return UsageError("--min-accuracy is for the strategy sti; drop one of the two");
  STI_ASSIGN_OR_RETURN(const double target_us, AccuracySearch(input, request, scope).Run());
  if (explain != nullptr) {
    explain->push_back("accuracy: " + Fixed4(*request.min_accuracy) +
                       " takes a target of at least " + MsUp(target_us));
  }
  PlanRequest found = request;
  found.target_us = target_us;
  return found;
}

/// Lengths and clocks of the plan and its variants; the plan's own first.
Result<std::vector<PlanningScope>> ScopesOf(const PlanInput& input, const PlanRequest& request) {
  STI_ASSIGN_OR_RETURN(const uint32_t length, PlannedLength(input, request));
  std::vector<uint32_t> lengths = request.further_lengths;
  lengths.push_back(length);
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  std::vector<uint64_t> clocks = request.clocks;
  if (clocks.empty()) clocks.push_back(0);
  std::vector<PlanningScope> scopes;
  scopes.reserve(lengths.size() * clocks.size());
  for (uint32_t each : lengths) {
    for (uint64_t clock : clocks) scopes.push_back({each, clock, nullptr});
  }
  return scopes;
}

}  // namespace

Result<Plan> MakePlan(const PlanInput& input, const PlanRequest& request,
                      std::vector<std::string>* explain) {
  STI_ASSIGN_OR_RETURN(std::vector<PlanningScope> scopes, ScopesOf(input, request));
  STI_ASSIGN_OR_RETURN(const PlanRequest resolved,
                       WithTarget(input, request, scopes.front(), explain));
  STI_ASSIGN_OR_RETURN(Plan plan, PlanOne(input, resolved, scopes.front(), explain));
  std::vector<Plan> variants;
  for (size_t i = 1; i < scopes.size(); ++i) {
    scopes[i].host = &plan;
    STI_ASSIGN_OR_RETURN(Plan variant, PlanOne(input, resolved, scopes[i], explain));
    variants.push_back(std::move(variant));
  }
  plan.variants = std::move(variants);
  if (request.min_accuracy && request.target_us) plan.target_us = request.target_us;
  // Once more: now with variants and turns, which take memory too, and the target as asked.
  STI_ASSIGN_OR_RETURN(const PlanCheck check, JudgePlan(input, request, plan));
  FillFigures(check, &plan);
  if (!check.fits_memory) {
    return InfeasibleError("the plan, its variants and turns need " +
                           std::to_string(check.peak_bytes) + " bytes together; raise --memory, " +
                           "lower --turn-buffer or plan fewer lengths");
  }
  return plan;
}

}  // namespace sti
