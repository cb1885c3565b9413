#include "plan/planner.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/function_ref.h"
#include "base/log.h"
#include "base/remedy.h"
#include "plan/judge.h"
#include "plan/row_times.h"
#include "plan/search/cascade_choice.h"
#include "plan/search/context.h"
#include "plan/search/measured_cascades.h"
#include "plan/search/search.h"
#include "plan/text.h"
#include "types/fields.h"
#include "types/plan_check.h"

namespace sti {
namespace {

/// Targets of a search by halves are this close, relative to the target.
constexpr double kTargetPrecision = 1e-3;

/// Behind a prompt, a text goes on by one token a pass.
constexpr uint32_t kLengthOfToken = 1;

void SayTimes(const PlanningContext& context) {
  const DeviceModel& device = context.devices.deciding();
  const bool p99 = context.request.judging.risk == Risk::kP99;
  const double wake_us = context.request.wake_us.value_or(0);
  context.Say("times: " + std::string(p99 ? "p99" : "median") + " at length " +
              std::to_string(device.length()) + " for " +
              (context.scope.batch > 1 ? std::to_string(context.scope.batch) + " x " : "") +
              std::to_string(context.scope.length) + " tokens; T_fixed " +
              Ms(device.fixed().compute_us()) + ", embedding rows " +
              Ms(device.fixed().embed_io_us) + " of IO" +
              (wake_us > 0 ? ", woken " + Ms(wake_us) + " ahead" : ""));
}

void SayFigures(const PlanningContext& context, const Plan& plan, const Verdict& verdict) {
  context.Say("preload: " + Counted(plan.preload.size(), "shard") + ", " +
              std::to_string(plan.preload_bytes) + " of " +
              std::to_string(context.request.preload_bytes) + " bytes");
  context.Say("prediction: " + Ms(plan.predicted_latency_us) + " median, " +
              Ms(plan.predicted_p99_us) + " p99, peak " +
              std::to_string(plan.predicted_peak_bytes) + " bytes" + Described(plan.quality) +
              (verdict.valid ? "" : "; misses: " + verdict.problem));
}

/// Returns the plan of one scope with its figures, without turns and variants.
Result<Plan> PlanOne(const PlanningContext& context) {
  SayTimes(context);
  const bool budgets = DelayModelFor(context.request.strategy) == DelayModel::kBudgets;
  STI_ASSIGN_OR_RETURN(Plan plan, budgets ? SearchPlan(context) : PlanFixedBits(context));
  const Verdict verdict = Evaluate(context.input, context.terms.judging, context.devices, plan);
  FillFigures(verdict, &plan);
  SayFigures(context, plan, verdict);
  if (context.request.io_budget_bytes && !verdict.valid) {
    return InfeasibleError("a plan that spends this IO budget " + verdict.problem)
        .Fix(Remedy::kRaiseInRequest, "target_us or lower io_budget_bytes");
  }
  return plan;
}

/// Returns the bits of all shards that a plan runs.
double SumOfBits(const PlanCore& plan) {
  return std::accumulate(plan.bits.values().begin(), plan.bits.values().end(), 0.0);
}

/// The parts of what is asked for that a plan has. A plan without one of them says what it costs.
struct Parts {
  bool guarantee = false;
  bool cascade = false;
  bool variants = false;  ///< for further lengths and clocks
};

/// The plans of a request are made in these *scopes*: one for each length and clock, the first that
/// of the plan itself, the others those of its variants.
using Scopes = std::vector<PlanningScope>;

/// Makes plans of one request with the parts that it is told. Each step takes values and gives the
/// next; none is changed afterwards.
class Planner {
 public:
  Planner(const CheckedInput& input, const PlanRequest& request, std::vector<std::string>* explain)
      : input_(input), request_(request), explain_(explain) {}

  /// Makes the plan that has these parts.
  [[nodiscard]] Result<Plan> Make(const Parts& parts) const {
    STI_ASSIGN_OR_RETURN(const Scopes asked, ScopesOf(parts));
    if (parts.cascade) return FitForAFile(WithCascade(asked));
    if (input_->info.continues_texts()) return FitForAFile(WithContext(asked, parts));

    // A least accuracy becomes a target.
    STI_ASSIGN_OR_RETURN(const PlanningTerms terms, TermsFor(asked.front()));

    // Others share the buffer with the preloaded shards: fallbacks and the words that they know, or
    // rows of words that are worth more than shards.
    STI_ASSIGN_OR_RETURN(const Scopes scopes,
                         parts.guarantee ? WithFallbacks(asked) : WithWords(asked, terms));

    // The plan itself, its turns and its variants.
    Result<Plan> plan = WithOrWithoutWords(
        scopes, [&](const Scopes& some) { return InScopes(some, terms, parts); });

    // A fallback costs what the plan without one has more.
    if (!plan.ok() || !parts.guarantee) return FitForAFile(std::move(plan));
    return FitForAFile(WithCosts(std::move(*plan), parts));
  }

 private:
  [[nodiscard]] Result<Scopes> ScopesOf(const Parts& parts) const;
  [[nodiscard]] Result<PlanningTerms> TermsFor(const PlanningScope& scope) const;
  [[nodiscard]] Result<Scopes> WithFallbacks(const Scopes& asked) const;
  [[nodiscard]] Result<Scopes> WithWords(const Scopes& asked, const PlanningTerms& terms) const;
  using Way = FunctionRef<Result<Plan>(const Scopes&)>;
  [[nodiscard]] static Result<Plan> WithOrWithoutWords(const Scopes& scopes, Way make);
  [[nodiscard]] Result<Plan> InScopes(const Scopes& scopes, const PlanningTerms& terms,
                                      const Parts& parts) const;
  [[nodiscard]] Result<Plan> WithContext(const Scopes& asked, const Parts& parts) const;
  [[nodiscard]] Result<Plan> WithCosts(Plan plan, const Parts& parts) const;
  [[nodiscard]] Result<Plan> WithCascade(const Scopes& asked) const;
  [[nodiscard]] Result<Plan> FitForAFile(Result<Plan> plan) const;

  [[nodiscard]] Result<double> LeastTarget(const PlanningScope& scope) const;
  [[nodiscard]] Result<double> AllAtFullFidelity(const PlanningScope& scope) const;
  [[nodiscard]] Result<double> AccuracyAt(double target_us, const PlanningScope& scope) const;
  [[nodiscard]] Status AddVariants(const Scopes& scopes, const PlanningTerms& terms,
                                   const Parts& parts, Plan* host) const;
  [[nodiscard]] Result<Plan> CascadeIn(const PlanningScope& scope) const;
  [[nodiscard]] Result<double> AccuracyWithoutCascade(const MeasuredCascades& measured) const;

  [[nodiscard]] bool ServesAllLengths(const Parts& parts) const;
  [[nodiscard]] bool PreloadsRows() const;
  [[nodiscard]] Result<PlanningContext> ContextOf(const PlanningScope& scope,
                                                  const PlanningTerms& terms) const {
    return PlanningContext::Make(input_, request_, terms, scope, explain_);
  }
  [[nodiscard]] Scopes Knowing(size_t words, Scopes scopes) const;
  void Say(std::string line) const {
    if (explain_ != nullptr) explain_->push_back(std::move(line));
  }

  const CheckedInput& input_;
  const PlanRequest& request_;
  std::vector<std::string>* explain_;
};

/// Returns whether a plan that is asked for no length serves texts as they come, of any length.
/// Vectors of a model that embeds compare only if one submodel at the same bits gives them all.
bool Planner::ServesAllLengths(const Parts& parts) const {
  return request_.length == 0 && request_.further_lengths.empty() &&
         request_.strategy == Strategy::kSti && !request_.cold() && !request_.io_budget_bytes &&
         parts.variants && !parts.cascade && !input_->info.embeds();
}

/// Returns lengths, batches and clocks of the plan and its variants; the plan's own first.
Result<Scopes> Planner::ScopesOf(const Parts& parts) const {
  STI_ASSIGN_OR_RETURN(uint32_t length, PlannedLength(input_, request_.length));
  if (request_.length == 0 && request_.context != 0) length = std::min(length, request_.context);
  const size_t clocks = std::max<size_t>(1, request_.clocks.size());
  std::vector<uint32_t> lengths = request_.further_lengths;
  lengths.push_back(length);
  if (ServesAllLengths(parts)) {
    for (const ComputeSample& sample : input_->profile.compute)
      lengths.push_back(std::min(sample.length, length));
  }
  if (input_->info.continues_texts() && !request_.cold()) lengths.push_back(kLengthOfToken);
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  lengths.resize(std::min(lengths.size(), std::max<size_t>(1, kMostPlans / clocks)));
  Scopes scopes;
  std::set<uint32_t, std::greater<>> batches(request_.batches.begin(), request_.batches.end());
  if (batches.empty()) batches.insert(1);
  scopes.reserve(lengths.size() * batches.size() * clocks);
  for (uint32_t each : lengths) {
    for (uint32_t batch : batches) {
      if (request_.clocks.empty()) scopes.push_back({.length = each, .batch = batch});
      for (uint64_t clock : request_.clocks)
        scopes.push_back({.length = each, .clock = clock, .batch = batch});
    }
  }
  if (!parts.variants) scopes.resize(1);
  return scopes;
}

/// Returns the terms of the request. Where it asks for a least accuracy, its target is the least
/// whose plan is predicted to reach that.
Result<PlanningTerms> Planner::TermsFor(const PlanningScope& scope) const {
  PlanningTerms terms = PlanningTerms::Of(request_);
  if (!request_.min_accuracy) return terms;
  STI_RETURN_IF_ERROR(CheckQualityIsKnown(input_, request_));
  STI_ASSIGN_OR_RETURN(terms.target_us, LeastTarget(scope));
  Say(QualityName(input_) + ": " + Fixed4(*request_.min_accuracy) + " takes a target of at least " +
      MsUp(*terms.target_us));
  return terms;
}

/// Finds the least target whose plan is predicted to reach the least accuracy, by halves.
Result<double> Planner::LeastTarget(const PlanningScope& scope) const {
  const Planner silent(input_, request_, nullptr);
  const double accuracy = *request_.min_accuracy;
  STI_ASSIGN_OR_RETURN(double high_us, silent.AllAtFullFidelity(scope));
  if (request_.target_us) high_us = std::min(high_us, *request_.target_us);
  STI_ASSIGN_OR_RETURN(const double best, silent.AccuracyAt(high_us, scope));
  if (best < accuracy) {
    std::string message = "no plan reaches " + QualityInWords(input_) + " of " + Fixed4(accuracy);
    if (request_.target_us) message += " within " + Ms(*request_.target_us);
    const char* less = request_.target_us ? "min_accuracy or raise target_us" : "min_accuracy";
    return InfeasibleError(message + "; the best is predicted to have " + Fixed4(best))
        .Fix(Remedy::kLowerInRequest, less);
  }
  double low_us = 0;
  while (high_us - low_us > std::max(1.0, kTargetPrecision * high_us)) {
    const double middle_us = (low_us + high_us) / 2;
    const Result<double> reached = silent.AccuracyAt(middle_us, scope);
    if (!reached.ok() && reached.error().kind != ErrorKind::kInfeasible) return reached.error();
    (reached.ok() && *reached >= accuracy ? high_us : low_us) = middle_us;
  }
  return high_us;
}

/// Returns a time in which any submodel can be loaded and computed one after the other. What else
/// is asked for takes no longer, and has no place in such a plan.
Result<double> Planner::AllAtFullFidelity(const PlanningScope& scope) const {
  const Submodel whole{input_->info.shape.layers, input_->info.shape.width};
  PlanningTerms terms = PlanningTerms::Of(request_);
  terms.target_us.reset();
  terms.submodel = request_.submodel.value_or(whole);
  terms.uniform_bits = input_->catalog.bits.back();
  terms.judging.memory_bytes.reset();
  STI_ASSIGN_OR_RETURN(const PlanningContext context, ContextOf(scope, terms));
  STI_ASSIGN_OR_RETURN(
      const double time_us,
      TimeToLoadAndCompute(context, context.submodels.front(), *terms.uniform_bits));
  return std::ceil(time_us);
}

/// Returns the accuracy that is predicted of the plan for a target.
Result<double> Planner::AccuracyAt(double target_us, const PlanningScope& scope) const {
  PlanningTerms terms = PlanningTerms::Of(request_);
  terms.target_us = target_us;
  STI_ASSIGN_OR_RETURN(const PlanningContext context, ContextOf(scope, terms));
  STI_ASSIGN_OR_RETURN(const Plan plan, PlanOne(context));
  const std::optional<double> reached = QualityReached(plan.quality, request_);
  if (reached) return *reached;
  return UsageError("a least " + QualityName(input_) + " needs A(n, m) of the submodels")
      .Fix(Remedy::kMeasureSubmodels);
}

bool Planner::PreloadsRows() const {
  const bool by_worth = request_.strategy == Strategy::kSti || request_.strategy == Strategy::kTabi;
  return by_worth && !request_.cold() && request_.turns() == nullptr && !request_.io_budget_bytes &&
         request_.preload_bytes > 0;
}

/// Returns the scopes with the rows of so many words in the preload buffer.
Scopes Planner::Knowing(size_t words, Scopes scopes) const {
  for (PlanningScope& scope : scopes) scope.words = words;
  if (words > 0) {
    Say("rows: " + std::to_string(words) + " words in " + std::to_string(RowBytes(input_, words)) +
        " bytes of the preload buffer");
  }
  return scopes;
}

/// Returns the scopes with as many words' rows in the preload buffer as are worth it for the plan
/// itself.
Result<Scopes> Planner::WithWords(const Scopes& asked, const PlanningTerms& terms) const {
  if (!PreloadsRows()) return asked;
  const PlanningScope& main = asked.front();
  STI_ASSIGN_OR_RETURN(
      const DeviceModels devices,
      DeviceModels::Make(input_, main.length, main.clock, terms.judging, terms.target_us));
  return Knowing(WordsToPreload(input_, devices, terms.preload_bytes, main.length), asked);
}

/// Makes a plan in scopes as they are. Where shards need the whole buffer, rows have no place in
/// it.
Result<Plan> Planner::WithOrWithoutWords(const Scopes& scopes, Way make) {
  Result<Plan> plan = make(scopes);
  if (plan.ok() || scopes.front().words == 0) return plan;
  Scopes without = scopes;
  for (PlanningScope& scope : without) scope.words = 0;
  return make(without);
}

/// Returns the scopes with their fallbacks, and the words that they know. Where the buffer does not
/// hold both, words go.
Result<Scopes> Planner::WithFallbacks(const Scopes& asked) const {
  const uint64_t buffer_bytes = request_.preload_bytes;
  const size_t words = WordsForFallbacks(input_, buffer_bytes);
  if (words > 0) {
    std::vector<std::string> lines;
    Result<Scopes> beside_words =
        ChooseFallbacks(input_, request_, buffer_bytes - RowBytes(input_, words), asked, &lines);
    if (beside_words.ok()) {
      for (std::string& line : lines) Say(std::move(line));
      return Knowing(words, std::move(*beside_words));
    }
  }
  return ChooseFallbacks(input_, request_, buffer_bytes, asked, explain_);
}

/// Makes the plan of the first scope, with the others as variants.
Result<Plan> Planner::InScopes(const Scopes& scopes, const PlanningTerms& terms,
                               const Parts& parts) const {
  // The plan itself: submodel, bits, preload, figures.
  STI_ASSIGN_OR_RETURN(const PlanningContext context, ContextOf(scopes.front(), terms));
  STI_ASSIGN_OR_RETURN(Plan plan, PlanOne(context));

  // The turns: what changes from one to the next.
  PlanTurns(context, &plan);

  STI_RETURN_IF_ERROR(AddVariants(scopes, terms, parts, &plan));

  // The figures once more: now with variants and turns, which take memory too, and the target as
  // asked.
  if (request_.target_us) {
    plan.target_us = request_.target_us;
    for (PlanCore& variant : plan.variants) variant.target_us = request_.target_us;
  }
  STI_ASSIGN_OR_RETURN(std::string problem, FillTogether(input_, request_.judging, &plan));
  while (!problem.empty() && ServesAllLengths(parts) && !plan.variants.empty() &&
         plan.variants.back().length < plan.length) {
    plan.variants.pop_back();  // the shortest, which nobody has asked for
    STI_ASSIGN_OR_RETURN(problem, FillTogether(input_, request_.judging, &plan));
  }
  if (problem.empty()) return plan;
  const bool for_labels = scopes.front().context == 0;
  return InfeasibleError(problem).Fix(
      Remedy::kRaiseInRequest,
      for_labels ? "memory_bytes, lower turn_bytes or plan fewer lengths" : "memory_bytes");
}

/// Makes the plan of a model that continues texts. The rows of all words stay in memory where there
/// is room for them beside the shards: each token needs them all.
Result<Plan> Planner::WithContext(const Scopes& asked, const Parts& parts) const {
  const PlanningTerms terms = PlanningTerms::Of(request_);
  Scopes scopes = asked;
  for (PlanningScope& scope : scopes) {
    // A prompt of one token has room to go on by one.
    scope.context = request_.context == 0 ? std::max(2U, asked.front().length) : request_.context;
    scope.keeps_vocabulary = true;
  }
  const uint64_t row_bytes = uint64_t{input_->info.shape.vocabulary} * input_->memory.row_bytes;
  const std::string words = "words: the head's " + Counted(input_->info.shape.vocabulary, "row") +
                            ", " + std::to_string(row_bytes) + " bytes, ";
  std::vector<std::string> lines;
  Result<Plan> plan = Planner(input_, request_, &lines).InScopes(scopes, terms, parts);
  if (plan.ok() || !request_.judging.memory_bytes || plan.error().kind != ErrorKind::kInfeasible) {
    Say(words + "stay in memory");
    for (std::string& line : lines) Say(std::move(line));
    return plan;
  }
  for (PlanningScope& scope : scopes) scope.keeps_vocabulary = false;
  Say(words + "are read in each pass, for want of memory");
  return InScopes(scopes, terms, parts);
}

/// Returns the host's own submodel, planned for the length and the clock of a scope.
PlanCore AsInScope(const Plan& host, const PlanningScope& scope) {
  PlanCore variant = host;
  variant.length = scope.length;
  variant.freq = UnlessZero(scope.clock);
  if (scope.length == kLengthOfToken) variant.wake_us.reset();  // it comes right behind another
  return variant;
}

/// Gives `host` a variant for each scope but the first, its own. They share its preload buffer. A
/// length that nobody has asked for is left out where there is no plan for it.
Status Planner::AddVariants(const Scopes& scopes, const PlanningTerms& terms, const Parts& parts,
                            Plan* host) const {
  host->variants.reserve(scopes.size() - 1);
  for (size_t i = 1; i < scopes.size(); ++i) {
    PlanningScope scope = scopes[i];
    if (scope.context != 0) {  // one text runs under them all, with its keys and values
      host->variants.push_back(AsInScope(*host, scope));
      continue;
    }
    scope.host = host;
    const Result<PlanningContext> context = ContextOf(scope, terms);
    Result<Plan> variant = context.ok() ? PlanOne(*context) : Result<Plan>(context.error());
    if (variant.ok()) {
      host->variants.push_back(static_cast<PlanCore&&>(*variant));
      continue;
    }
    if (!ServesAllLengths(parts) || scope.length == host->length) return variant.error();
    Say("no variant of " + std::to_string(scope.length) + " tokens: " + variant.error().what);
  }
  return {};
}

/// Says of each fallback what it costs: the bits that the plan would have without it, minus those
/// that it has. A plan that is possible with a fallback is possible without.
Result<Plan> Planner::WithCosts(Plan plan, const Parts& parts) const {
  const Parts without{.guarantee = false, .cascade = false, .variants = parts.variants};
  STI_ASSIGN_OR_RETURN(const Plan free, Planner(input_, request_, nullptr).Make(without));
  plan.fallback->cost_bits = SumOfBits(free) - SumOfBits(plan);
  for (PlanCore& variant : plan.variants) {
    const auto is_same = [&](const PlanCore& it) {
      return it.length == variant.length && it.freq == variant.freq;
    };
    const auto same = std::find_if(free.variants.begin(), free.variants.end(), is_same);
    if (same != free.variants.end())
      variant.fallback->cost_bits = SumOfBits(*same) - SumOfBits(variant);
  }
  const std::string freely = Described(free.quality);
  Say("guarantee: costs " + FixedPoint(plan.fallback->cost_bits, 0) + " of " +
      FixedPoint(SumOfBits(free), 0) + " bits of shards" +
      (freely.empty() ? "" : "; without it" + freely.substr(1)));
  return plan;
}

/// Makes a plan with a cascade. Its levels share the rows that are worth more than shards.
Result<Plan> Planner::WithCascade(const Scopes& asked) const {
  STI_RETURN_IF_ERROR(CheckCascadesAreMeasured(input_));
  STI_ASSIGN_OR_RETURN(const Scopes scopes,
                       WithWords({asked.front()}, PlanningTerms::Of(request_)));
  return WithOrWithoutWords(scopes, [&](const Scopes& some) { return CascadeIn(some.front()); });
}

/// Makes the plan of one scope with the cascade that the request asks for.
Result<Plan> Planner::CascadeIn(const PlanningScope& scope) const {
  STI_ASSIGN_OR_RETURN(const PlanningContext context,
                       ContextOf(scope, PlanningTerms::Of(request_)));
  SayTimes(context);
  STI_ASSIGN_OR_RETURN(const MeasuredCascades measured, MeasuredCascades::Make(context));
  if (request_.strategy == Strategy::kTabi) {
    STI_ASSIGN_OR_RETURN(const CascadeCandidate choice,
                         CascadeByTabi(measured, request_.min_accuracy));
    return measured.PlanOf(choice);
  }
  double least_accuracy = request_.min_accuracy.value_or(0);
  if (!request_.min_accuracy) {
    STI_ASSIGN_OR_RETURN(least_accuracy, AccuracyWithoutCascade(measured));
  }
  STI_ASSIGN_OR_RETURN(const CascadeCandidate choice, FastestCascade(measured, least_accuracy));
  return measured.PlanOf(choice);
}

/// Returns the accuracy that a cascade must reach where nobody has asked for one: that of the best
/// plan without a cascade, or where none is predicted for it, of the best level alone. kInfeasible
/// if nothing alone meets the target.
Result<double> Planner::AccuracyWithoutCascade(const MeasuredCascades& measured) const {
  STI_ASSIGN_OR_RETURN(const Plan plan, Planner(input_, request_, nullptr).Make(Parts{}));
  const std::optional<double> accuracy =
      plan.quality.accuracy ? plan.quality.accuracy : measured.BestAlone();
  Say("cascade: the best plan without one takes " + Ms(plan.predicted_latency_us) +
      " in the median" + (accuracy ? ", accuracy " + Fixed4(*accuracy) : ""));
  return accuracy.value_or(0);
}

/// Returns the plan, or an error if its figures are beyond what a plan file may hold: then those of
/// the profile add up to more than anybody waits for. Of no model it is never a file.
Result<Plan> Planner::FitForAFile(Result<Plan> plan) const {
  if (!plan.ok() || input_->model.empty()) return plan;
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
  STI_RETURN_IF_ERROR(ValidateForModel(request, input->info));
  // Beyond this point, neither request nor input is validated any more.
  PlanRequest made = request;
  if (made.strategy == Strategy::kPipeload && !made.target_us && !made.submodel)
    made.submodel = Submodel{input->info.shape.layers, input->info.shape.width};
  return Planner(input, made, explain)
      .Make({.guarantee = request.guarantee(),
             .cascade = request.cascade() != nullptr,
             .variants = true});
}

}  // namespace sti
