#include "plan/search/fixed_bits.h"

#include <optional>
#include <string>

#include "base/remedy.h"
#include "plan/judge.h"
#include "plan/text.h"
#include "types/bits.h"

namespace sti {
namespace {

Result<uint32_t> BitsToFix(const PlanningContext& context) {
  const bool serial = DelayModelFor(context.request.strategy) == DelayModel::kSerial;
  const uint32_t bits = context.request.uniform_bits.value_or(serial ? kFullBits : 6);
  if (context.costs.LevelOf(bits)) return bits;
  std::string known;
  for (uint32_t b : context.costs.bits()) known += (known.empty() ? "" : ",") + std::to_string(b);
  return UsageError("strategy " + std::string(NameOf(context.request.strategy)) + " needs " +
                    std::to_string(bits) + " bits, the model and the profile have " + known)
      .Fix(Remedy::kGiveInRequest, "uniform_bits");
}

Plan MakeFixedPlan(const PlanningContext& context, const Submodel& submodel, uint32_t bits) {
  Plan plan = context.UniformPlan(submodel, bits);
  if (DelayModelFor(plan.strategy) != DelayModel::kMemory) return plan;
  for (uint32_t layer : plan.layers) {
    for (uint32_t slice = 0; slice < submodel.width; ++slice)
      plan.preload.push_back({{layer, slice}, bits});
  }
  return plan;
}

}  // namespace

Result<Plan> PlanFixedBits(const PlanningContext& context) {
  STI_ASSIGN_OR_RETURN(const uint32_t bits, BitsToFix(context));
  std::vector<Submodel> feasible;
  std::optional<Verdict> fastest;
  for (const Submodel& submodel : context.submodels) {
    const Verdict verdict = Evaluate(context.input, context.request.judging, context.devices,
                                     MakeFixedPlan(context, submodel, bits));
    if (verdict.valid) feasible.push_back(submodel);
    const bool faster = !fastest || verdict.deciding_latency_us < fastest->deciding_latency_us;
    if (verdict.fits_memory && faster) fastest = verdict;
  }
  const std::string strategy(NameOf(context.request.strategy));
  if (!fastest) {
    return InfeasibleError("no " + strategy + " plan fits in the memory asked for")
        .Fix(Remedy::kRaiseInRequest, "memory_bytes");
  }
  if (feasible.empty()) {
    return InfeasibleError("no " + strategy + " plan meets the target: the fastest submodel " +
                           fastest->problem + "; the smallest feasible target is " +
                           MsUp(fastest->deciding_latency_us));
  }
  const Submodel& best = LargestThenDeepest(feasible, context.request.similar);
  context.Say(strategy + ": " + std::to_string(feasible.size()) + " of " +
              std::to_string(context.submodels.size()) + " submodels fit at " +
              std::to_string(bits) + " bits; " + NameOf(best) + " is taken");
  return MakeFixedPlan(context, best, bits);
}

}  // namespace sti
