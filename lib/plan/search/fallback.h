// The choice of fallbacks (types/fallback.h): for each plan of a request the best submodel at the
// fewest bits that computes within T beside the reading of embedding rows, and whose shards the
// preload buffer holds. Fallbacks are chosen before anything else, since they come first in the
// buffer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/request.h"
#include "plan/search/context.h"

namespace sti {

/// Returns the scopes, each with its fallback, within a preload buffer of so many bytes. The first
/// scope's is the best that fits. Each other's is the best whose shards those before have already;
/// only if there is none, it takes more of the buffer. Returns kInfeasible with the least S, or
/// where time is short the least T, if a scope has none.
Result<std::vector<PlanningScope>> ChooseFallbacks(const CheckedInput& input,
                                                   const PlanRequest& request,
                                                   uint64_t preload_bytes,
                                                   std::vector<PlanningScope> scopes,
                                                   std::vector<std::string>* explain);

}  // namespace sti
