// The strategies with a bitwidth a shard: sti, sti-paper and random.
//
// sti-paper is STI 5.3 and 5.4 as printed: compute alone picks the submodel, then IO fills it.
// Where the flash is slow for the CPU, the largest submodel that computes in T cannot be loaded in
// T, or only at 2 bits, and a deeper, narrower one at 3 or 4 bits would be better. So sti searches
// submodel, bits and preload together wherever it knows what submodels are worth, or IO binds;
// where it knows nothing and IO is plenty, the choice of compute planning is as good as any.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/request.h"
#include "plan/search/context.h"
#include "types/plan.h"

namespace sti {

/// Returns a plan without figures, by the strategy of the request. kInfeasible if there is none;
/// the message then says what it would take.
Result<Plan> SearchPlan(const PlanningContext& context);

/// Fills plan->turns and plan->turn_bytes as the request asks. Turn 1 is the plan itself. After a
/// turn the longest prefix of its shards, in layer order, that fits the turn buffer stays; the next
/// turn reads only planes that are missing, in the time that AIBs leave and in fewer bytes than the
/// turn before, and raises shards in the order of gain a microsecond. What it raises it could also
/// stream from then on, so that fidelity never falls.
void PlanTurns(const PlanningContext& context, Plan* plan);

/// Returns a plan without figures, by the strategy of the request. kUsage if the model or the
/// profile lacks the bits, kInfeasible if no submodel is in time and memory.
Result<Plan> PlanFixedBits(const PlanningContext& context);

/// Returns the 99th percentile of loading a submodel at these bits, and then computing it. kUsage
/// if the model or the profile lacks the bits.
Result<double> TimeToLoadAndCompute(const PlanningContext& context, const Submodel& submodel,
                                    uint32_t bits);

/// Returns the scopes, each with its fallback, within a preload buffer of so many bytes. The first
/// scope's is the best that fits. Each other's is the best whose shards those before have already;
/// only if there is none, it takes more of the buffer. Returns kInfeasible with the least S, or
/// where time is short the least T, if a scope has none.
Result<std::vector<PlanningScope>> ChooseFallbacks(const CheckedInput& input,
                                                   const PlanRequest& request,
                                                   uint64_t preload_bytes,
                                                   std::vector<PlanningScope> scopes,
                                                   std::vector<std::string>* explain);

/// T and S at which one submodel becomes possible, at the fewest bits or the bits asked for.
struct Price {
  std::optional<double> target_us;        ///< least T with the request's S; nothing: no memory
  std::optional<uint64_t> preload_bytes;  ///< least S with the request's T; nothing: none is enough
};

/// Returns the price of a submodel that the request allows.
Price PriceOf(const PlanningContext& context, const Submodel& submodel);

/// Returns kInfeasible in one line, which names the least T for this S, the least S for this T, and
/// the price of the cheapest submodel that is worth more.
Error Infeasible(const PlanningContext& context);

/// Returns one line on the cheapest submodel that is worth more than `submodel` and not possible
/// now.
std::string NextBetter(const PlanningContext& context, const Submodel& submodel);

}  // namespace sti
