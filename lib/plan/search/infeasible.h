// The answer to a request that cannot be met: the *price* of each submodel, which is the target or
// the preload buffer at which it would become possible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/search/context.h"

namespace sti {

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
