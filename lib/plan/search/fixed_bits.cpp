#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/remedy.h"
#include "plan/judge.h"
#include "plan/search/search.h"
#include "plan/text.h"
#include "types/bits.h"
#include "types/limits.h"

namespace sti {
namespace {

/// Returns the bits that a strategy fixes, which are `asked` or what the paper has.
Result<uint32_t> BitsToFix(const PlanningContext& context, Strategy strategy,
                           std::optional<uint32_t> asked) {
  const bool full =
      DelayModelFor(strategy) == DelayModel::kSerial || strategy == Strategy::kPipeload;
  const uint32_t bits = asked.value_or(full ? kFullBits : 6);
  if (context.costs.LevelOf(bits)) return bits;
  std::string known;
  for (uint32_t b : context.costs.bits()) known += (known.empty() ? "" : ",") + std::to_string(b);
  return UsageError("strategy " + std::string(NameOf(strategy)) + " needs " + std::to_string(bits) +
                    " bits, the model and the profile have " + known)
      .Fix(Remedy::kGiveInRequest, "uniform_bits");
}

/// Returns kUsage if the profile does not tell what several agents bring.
Status CheckStreamsAreKnown(const PlanningContext& context) {
  if (context.request.strategy != Strategy::kPipeload || !context.input->profile.streams.empty())
    return {};
  return UsageError("has no rates through several open files, which strategy pipeload plans by")
      .In(Source::kProfile)
      .Fix(Remedy::kMeasureAgain);
}

/// A plan, and what it comes to.
struct Judged {
  Plan plan;
  Verdict verdict;
};

Judged Judge(const PlanningContext& context, Plan plan) {
  Verdict verdict = Evaluate(context.input, context.terms.judging, context.devices, plan);
  return {std::move(plan), std::move(verdict)};
}

/// Returns the plan that is read by the agents asked for, by those of the plan that it is a variant
/// of, or by as many as are fastest: of equals, and where memory holds none, by the fewest.
Judged WithAgents(const PlanningContext& context, const Plan& plan) {
  // A tenth of a percent is no gain, and an agent more takes memory.
  constexpr double kGain = 0.999;
  const Plan* const host = context.scope.host;
  const std::optional<uint32_t> asked =
      host != nullptr ? std::optional(host->agents) : context.request.agents;
  std::optional<Judged> best;
  for (uint32_t agents = asked.value_or(1); agents <= asked.value_or(kMaxReadStreams); ++agents) {
    Plan candidate = plan;
    candidate.agents = agents;
    Judged judged = Judge(context, std::move(candidate));
    const bool better =
        !best || (judged.verdict.fits_memory &&
                  judged.verdict.deciding_latency_us < kGain * best->verdict.deciding_latency_us);
    if (better) best = std::move(judged);
  }
  return *std::move(best);
}

Judged MakeFixedPlan(const PlanningContext& context, const Submodel& submodel, uint32_t bits) {
  Plan plan = context.UniformPlan(submodel, bits);
  if (plan.strategy == Strategy::kPipeload) return WithAgents(context, plan);
  if (DelayModelFor(plan.strategy) == DelayModel::kMemory) {
    for (uint32_t layer : plan.layers) {
      for (uint32_t slice = 0; slice < submodel.width; ++slice)
        plan.preload.push_back({{layer, slice}, bits});
    }
  }
  return Judge(context, std::move(plan));
}

/// Holds which submodels a request allows at fixed bits, and how near the others come.
struct FixedChoices {
  std::vector<Submodel> feasible;
  std::optional<Verdict> fastest;  ///< of those that memory and buffer hold
  std::optional<uint64_t> least_held_bytes;
  std::optional<uint64_t> least_peak_bytes;  ///< of those that the buffer holds
};

/// Judges the plan of each submodel at `bits`. What starts in memory is within the preload buffer,
/// if the request has one.
FixedChoices JudgeAll(const PlanningContext& context, uint32_t bits) {
  FixedChoices choices;
  const uint64_t buffer_bytes = context.terms.preload_bytes;
  for (const Submodel& submodel : context.submodels) {
    const Verdict verdict = MakeFixedPlan(context, submodel, bits).verdict;
    const uint64_t held_bytes = verdict.preload_bytes;
    choices.least_held_bytes = std::min(held_bytes, choices.least_held_bytes.value_or(held_bytes));
    if (buffer_bytes != 0 && held_bytes > buffer_bytes) continue;
    choices.least_peak_bytes =
        std::min(verdict.peak_bytes, choices.least_peak_bytes.value_or(verdict.peak_bytes));
    if (verdict.valid) choices.feasible.push_back(submodel);
    const bool faster =
        !choices.fastest || verdict.deciding_latency_us < choices.fastest->deciding_latency_us;
    if (verdict.fits_memory && faster) choices.fastest = verdict;
  }
  return choices;
}

Error NoFixedPlan(const PlanningContext& context, const FixedChoices& choices) {
  const std::string strategy(NameOf(context.request.strategy));
  const uint64_t buffer_bytes = context.terms.preload_bytes;
  if (buffer_bytes != 0 && choices.least_held_bytes.value_or(0) > buffer_bytes) {
    return InfeasibleError("no " + strategy + " plan fits in the preload buffer: the smallest " +
                           "holds " + std::to_string(*choices.least_held_bytes) + " bytes")
        .Fix(Remedy::kRaiseInRequest, "preload_bytes");
  }
  if (!choices.fastest) {
    return InfeasibleError("no " + strategy + " plan fits in the memory asked for")
        .Fix(Remedy::kRaiseInRequest,
             "memory_bytes to " + std::to_string(*choices.least_peak_bytes) + " bytes");
  }
  return InfeasibleError("no " + strategy + " plan meets the target: the fastest submodel " +
                         choices.fastest->problem + "; the smallest feasible target is " +
                         MsUp(choices.fastest->deciding_latency_us));
}

}  // namespace

Result<Plan> PlanFixedBits(const PlanningContext& context) {
  STI_ASSIGN_OR_RETURN(const uint32_t bits,
                       BitsToFix(context, context.request.strategy, context.terms.uniform_bits));
  STI_RETURN_IF_ERROR(CheckStreamsAreKnown(context));
  const FixedChoices choices = JudgeAll(context, bits);
  if (choices.feasible.empty()) return NoFixedPlan(context, choices);
  const Submodel& best = LargestThenDeepest(choices.feasible, context.request.similar);
  const std::string strategy(NameOf(context.request.strategy));
  context.Say(strategy + ": " + std::to_string(choices.feasible.size()) + " of " +
              std::to_string(context.submodels.size()) + " submodels fit at " +
              std::to_string(bits) + " bits; " + NameOf(best) + " is taken");
  Plan plan = MakeFixedPlan(context, best, bits).plan;
  if (plan.agents > 0) context.Say("agents: " + std::to_string(plan.agents));
  return plan;
}

Result<double> TimeToLoadAndCompute(const PlanningContext& context, const Submodel& submodel,
                                    uint32_t bits) {
  STI_RETURN_IF_ERROR(BitsToFix(context, Strategy::kLoadExec, bits));
  Plan plan = context.UniformPlan(submodel, bits);
  plan.strategy = Strategy::kLoadExec;
  plan.wake_us.reset();
  return Evaluate(context.input, context.terms.judging, context.devices, plan).p99_us;
}

}  // namespace sti
