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

/// Returns the plan of a request whose strategy is one of these. Its figures, which are what
/// Verdict holds (plan/judge.h), are not set yet. kInfeasible if there is no plan; the message is
/// Infeasible's.
Result<Plan> SearchPlan(const PlanningContext& context);

/// Fills plan->turns and plan->turn_bytes as the request asks. Turn 1 is the plan itself. After a
/// turn the longest prefix of its shards, in layer order, that fits the turn buffer stays; the next
/// turn reads only planes that are missing, in the time that AIBs leave and in fewer bytes than the
/// turn before, and raises shards in the order of gain a microsecond. What it raises it could also
/// stream from then on, so that fidelity never falls.
void PlanTurns(const PlanningContext& context, Plan* plan);

/// Returns the plan of a request for load-exec, stdpl or preload, likewise without figures. kUsage
/// if the model or the profile lacks the bits, kInfeasible if no submodel is in time and memory.
Result<Plan> PlanFixedBits(const PlanningContext& context);

/// Returns the 99th percentile of loading a submodel at these bits, and then computing it. kUsage
/// if the model or the profile lacks the bits.
Result<double> TimeToLoadAndCompute(const PlanningContext& context, const Submodel& submodel,
                                    uint32_t bits);

/// Returns `scopes`, the plan and its variants to be made, each with its fallback, in a preload
/// buffer of `preload_bytes`. The first scope's fallback is the best that fits. That of each other
/// is the best whose shards the ones before have already; only if there is none, it takes more of
/// the buffer. kInfeasible if a scope has no fallback: the message names the least S, or the least
/// T where time is short. `explain`, where given, gets a line for each.
Result<std::vector<PlanningScope>> ChooseFallbacks(const CheckedInput& input,
                                                   const PlanRequest& request,
                                                   uint64_t preload_bytes,
                                                   std::vector<PlanningScope> scopes,
                                                   std::vector<std::string>* explain);

/// T and S at which one submodel becomes possible, at the fewest bits or the bits asked for.
struct Price {
  /// Least T with the request's S; nothing if the memory does not suffice at any T.
  std::optional<double> target_us;
  /// Least S with the request's T; nothing if no S is enough.
  std::optional<uint64_t> preload_bytes;
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
