// The strategies with a bitwidth a shard: sti, sti-paper and random.
//
// sti-paper is STI 5.3 and 5.4 as printed: compute alone picks the submodel, then IO fills it.
// Where the flash is slow for the CPU, the largest submodel that computes in T cannot be loaded in
// T, or only at 2 bits, and a deeper, narrower one at 3 or 4 bits would be better. So sti searches
// submodel, bits and preload together wherever it knows what submodels are worth, or IO binds;
// where it knows nothing and IO is plenty, the choice of compute planning is as good as any.
#pragma once

#include "base/result.h"
#include "plan/search/context.h"
#include "types/plan.h"

namespace sti {

/// Returns a plan without figures, by the strategy of the request. kInfeasible if there is none;
/// the message then says what it would take.
Result<Plan> SearchPlan(const PlanningContext& context);

}  // namespace sti
