// The baselines of STI Table 4: one bitwidth, each with its own delay model, and the rule of
// stage 1 over what meets T under that model.
#include <string>

#include "plan/planning.h"
#include "plan/text.h"
#include "types/bits.h"

namespace sti {
namespace {

Result<uint32_t> BaselineBits(const Planning& planning) {
  const bool serial = DelayModelFor(planning.request.strategy) == DelayModel::kSerial;
  const uint32_t bits = planning.request.uniform_bits.value_or(serial ? kFullBits : 6);
  if (planning.costs.LevelOf(bits)) return bits;
  std::string known;
  for (uint32_t b : planning.costs.bits()) known += (known.empty() ? "" : ",") + std::to_string(b);
  return UsageError("strategy " + std::string(NameOf(planning.request.strategy)) + " needs " +
                    std::to_string(bits) + " bits, the model and the profile have " + known +
                    "; use --bits");
}

Plan BaselinePlan(const Planning& planning, const Submodel& submodel, uint32_t bits) {
  Plan plan = planning.UniformPlan(submodel, bits);
  if (DelayModelFor(plan.strategy) != DelayModel::kMemory) return plan;
  for (uint32_t layer : plan.layers) {
    for (uint32_t slice = 0; slice < submodel.width; ++slice)
      plan.preload.push_back({{layer, slice}, bits});
  }
  return plan;
}

}  // namespace

Result<Plan> PlanBaseline(const Planning& planning) {
  STI_ASSIGN_OR_RETURN(const uint32_t bits, BaselineBits(planning));
  std::vector<Submodel> feasible;
  std::optional<PlanCheck> fastest;
  for (const Submodel& submodel : planning.submodels) {
    const PlanCheck check = EvaluatePlan(planning.input, planning.request, planning.devices,
                                         BaselinePlan(planning, submodel, bits));
    if (check.valid) feasible.push_back(submodel);
    if (check.fits_memory && (!fastest || check.deciding_latency_us < fastest->deciding_latency_us))
      fastest = check;
  }
  const std::string strategy(NameOf(planning.request.strategy));
  if (!fastest)
    return InfeasibleError("no " + strategy + " plan fits in the memory asked for; raise --memory");
  if (feasible.empty()) {
    return InfeasibleError("no " + strategy + " plan meets the target: the fastest submodel " +
                           fastest->problem + "; the smallest feasible target is " +
                           MsUp(fastest->deciding_latency_us));
  }
  const Submodel& best = LargestThenDeepest(feasible, planning.request.similar);
  planning.Say(strategy + ": " + std::to_string(feasible.size()) + " of " +
               std::to_string(planning.submodels.size()) + " submodels fit at " +
               std::to_string(bits) + " bits; " + NameOf(best) + " is taken");
  return BaselinePlan(planning, best, bits);
}

}  // namespace sti
