#include "plan/search/measured_cascades.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/remedy.h"
#include "plan/judge.h"
#include "plan/text.h"
#include "types/fields.h"

namespace sti {
namespace {

/// Returns what a cut says of all cascade levels but the last, together at most 1: of a file they
/// add up to 1 but for rounding.
std::vector<double> ReturnShares(const CascadeCut& cut) {
  std::vector<double> shares;
  double left = 1;
  for (size_t i = 0; i + 1 < cut.shares.size(); ++i) {
    shares.push_back(std::min(cut.shares[i], left));
    left -= shares.back();
  }
  return shares;
}

CascadeRule RuleOf(const CascadeScore& score, const CascadeCut& cut, size_t level) {
  CascadeRule rule;
  rule.cutoff = cut.cutoff;
  if (cut.slope) rule.slope = std::min(*cut.slope, kMostSlope);
  rule.prune_alpha = score.alpha;
  rule.ensemble_weight = cut.weights[level];
  return rule;
}

/// Makes a plan that was made alone a level before the last. The plan itself has its words.
PlanCore AsLevel(PlanCore plan, bool first) {
  plan.meets_target = true;
  if (first) return plan;
  plan.preload.clear();
  plan.preload_bytes = 0;
  return plan;
}

/// Has a cascade need memory for the whole arena of its plan. That of a plan whose last level needs
/// more alone than in the cascade may be more than the cascade's share of the memory.
void NeedArenaOf(const Plan& plan, CascadeFigures* figures) {
  const uint64_t arena_bytes = plan.staging_bytes.value_or(0);
  if (arena_bytes <= figures->staging_bytes) return;
  figures->peak_bytes += arena_bytes - figures->staging_bytes;
  figures->fits_memory = false;
  figures->problem = "needs " + std::to_string(figures->peak_bytes) + " bytes of memory";
}

}  // namespace

Status CheckCascadesAreMeasured(const CheckedInput& input) {
  if (input->info.problem == Problem::kMultiLabel) {
    return UsageError("a cascade is for models that give one label, not any number of them")
        .Fix(Remedy::kDropFromRequest, "cascade");
  }
  if (input->importance == nullptr) {
    return UsageError("a cascade is chosen by what an importance file says of its levels")
        .Fix(Remedy::kMeasureCascades);
  }
  if (!input->importance->cascades.empty()) return {};
  return ForeignError("no cascades were measured")
      .In(Source::kImportance)
      .Fix(Remedy::kMeasureCascades);
}

MeasuredCascades::MeasuredCascades(const PlanningContext& context) : context_(&context) {
  for (const CascadeLevelScore& score : context.input->importance->cascade_levels) {
    Result<Plan> plan = PlanAlone(score);
    Member& member = members_.emplace_back();
    if (plan.ok()) {
      member.plan = std::move(*plan);
    } else {
      member.problem = plan.error();
    }
  }
}

Result<MeasuredCascades> MeasuredCascades::Make(const PlanningContext& context) {
  MeasuredCascades measured(context);
  measured.Price();
  if (!measured.all_.empty()) return measured;
  for (const CascadeScore& score : context.input->importance->cascades) {
    if (score.levels.size() > context.request.cascade()->max_levels) continue;
    return *measured.ProblemOf(score);
  }
  return ForeignError("no cascades of 2 levels were measured")
      .In(Source::kImportance)
      .Fix(Remedy::kRaiseInRequest, "max_levels to 3");
}

Result<Plan> MeasuredCascades::PlanAlone(const CascadeLevelScore& score) const {
  const PlanningContext& context = *context_;
  const Submodel submodel{score.depth, score.width};
  const std::vector<uint32_t>& stored = context.input->catalog.bits;
  if (std::find(stored.begin(), stored.end(), score.bits) == stored.end()) {
    return ForeignError("cascades were measured with levels at " + std::to_string(score.bits) +
                        " bits, which this container does not hold")
        .In(Source::kImportance)
        .Fix(Remedy::kMeasureCascades);
  }
  const std::optional<size_t> bitwidth = context.costs.LevelOf(score.bits);
  if (!bitwidth) {
    return UsageError("no load time for " + std::to_string(score.bits) +
                      " bits, which levels of cascades have")
        .In(Source::kProfile)
        .Fix(Remedy::kMeasureAgain);
  }
  const auto& allowed = context.submodels;
  if (std::find(allowed.begin(), allowed.end(), submodel) == allowed.end()) {
    const SubmodelWish wish{submodel, 1, context.request.allow_untrained,
                            context.terms.judging.interpolate};
    const auto why = AllowedSubmodels(context.input->info, context.devices.deciding(), wish);
    if (!why.ok()) return why.error();
  }
  Allocation allocation = context.AllocationOf(submodel);
  allocation.SetUniform(*bitwidth);
  Plan plan = context.PlanOf(allocation);
  FillFigures(Evaluate(context.input, context.terms.judging, context.devices, plan), &plan);
  // Where A(n, m) is not known, the level's own accuracy is.
  if (!plan.quality.accuracy) plan.quality.accuracy = score.accuracy;
  return plan;
}

const CascadeLevelScore& MeasuredCascades::Score(uint32_t level) const {
  return context_->input->importance->cascade_levels[level];
}

std::optional<double> MeasuredCascades::BestAlone() const {
  std::optional<double> best;
  for (uint32_t level = 0; level < members_.size(); ++level) {
    if (!members_[level].plan || !members_[level].plan->meets_target) continue;
    best = std::max(best.value_or(0), Score(level).accuracy);
  }
  return best;
}

std::optional<Error> MeasuredCascades::ProblemOf(const CascadeScore& score) const {
  for (const uint32_t level : score.levels) {
    if (members_[level].problem) return members_[level].problem;
  }
  return std::nullopt;
}

void MeasuredCascades::Price() {
  const PlanningContext& context = *context_;
  std::map<std::vector<uint32_t>, PricedCascade> known;
  size_t left_out = 0;
  for (const CascadeScore& score : context.input->importance->cascades) {
    if (score.levels.size() > context.request.cascade()->max_levels) continue;
    if (ProblemOf(score)) {
      ++left_out;
      continue;
    }
    PricedCascade& cascade = known[score.levels];
    cascade.scores.push_back(&score);
    if (!cascade.levels.empty()) continue;
    cascade.levels = score.levels;
    const Plan plan = Assemble(cascade.levels);
    cascade.figures = PriceCascade(context.input, context.terms.judging, context.devices, plan);
    NeedArenaOf(plan, &cascade.figures);
    const bool p99 = context.devices.risk == Risk::kP99;
    cascade.last_us = p99 ? plan.predicted_p99_us : plan.predicted_latency_us;
    cascade.feasible = plan.meets_target && cascade.figures.problem.empty();
  }
  context.Say("cascades: " + std::to_string(known.size()) + " of measured levels" +
              (left_out == 0 ? ""
                             : "; " + std::to_string(left_out) +
                                   " rows are of levels that this request does not allow"));
  for (auto& [levels, cascade] : known) {
    std::stable_sort(
        cascade.scores.begin(), cascade.scores.end(),
        [](const CascadeScore* a, const CascadeScore* b) { return a->alpha < b->alpha; });
    all_.push_back(std::move(cascade));
  }
}

Plan MeasuredCascades::Assemble(const std::vector<uint32_t>& levels) const {
  Plan plan = Alone(levels.back());
  PlanCascade& cascade = plan.cascade.emplace();
  cascade.temperature = Score(levels.back()).temperature;
  for (size_t i = 0; i + 1 < levels.size(); ++i) {
    CascadeLevel& level = cascade.levels.emplace_back();
    level.plan = AsLevel(Alone(levels[i]), i == 0);
    level.temperature = Score(levels[i]).temperature;
  }
  cascade.return_share.resize(cascade.levels.size());
  const PlanningContext& context = *context_;
  const Judging& judging = context.terms.judging;
  const PredictedQuality quality = plan.quality;
  plan.staging_bytes.reset();
  const uint64_t staging_bytes =
      PriceCascade(context.input, judging, context.devices, plan).staging_bytes;
  const uint64_t least_bytes = LargestLayerBytes(context.input, context.devices.median, plan);
  // The preload of the plan alone may not leave the cascade without an arena.
  for (;;) {
    plan.staging_bytes = UnlessZero(staging_bytes);
    FillFigures(Evaluate(context.input, judging, context.devices, plan), &plan);
    if (plan.staging_bytes.value_or(0) >= least_bytes || plan.preload.empty()) break;
    plan.preload.pop_back();
  }
  plan.quality = quality;
  return plan;
}

CascadeCandidate MeasuredCascades::Candidate(const PricedCascade& cascade,
                                             const CascadeScore& score,
                                             const CascadeCut& cut) const {
  CascadeCandidate candidate{&cascade, &score, &cut, 0};
  const std::vector<double> shares = ReturnShares(cut);
  double left = 1;
  for (size_t i = 0; i < shares.size(); ++i) {
    candidate.mean_us += shares[i] * cascade.figures.path_us[i];
    left -= shares[i];
  }
  candidate.mean_us += left * cascade.figures.path_us.back();
  return candidate;
}

Plan MeasuredCascades::PlanOf(const CascadeCandidate& candidate) const {
  Plan plan = Assemble(candidate.cascade->levels);
  PlanCascade& cascade = *plan.cascade;
  cascade.return_share = ReturnShares(*candidate.cut);
  for (size_t i = 0; i < cascade.levels.size(); ++i)
    cascade.levels[i].rule = RuleOf(*candidate.score, *candidate.cut, i);
  cascade.quality.accuracy = candidate.cut->accuracy;
  const PlanningContext& context = *context_;
  FillCascade(PriceCascade(context.input, context.terms.judging, context.devices, plan), &plan);
  return plan;
}

std::string MeasuredCascades::NameOf(const PricedCascade& cascade) const {
  std::string name;
  for (const uint32_t level : cascade.levels) {
    const CascadeLevelScore& score = Score(level);
    name += (name.empty() ? "" : ", then ") + sti::NameOf(Submodel{score.depth, score.width}) +
            " at " + std::to_string(score.bits) + " bits";
  }
  return name;
}

}  // namespace sti
