// What would have to be paid for more: the answer to a request that cannot be met, and the next
// better submodel's price. Internal to lib/plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/planning.h"

namespace sti {

/// T and S at which one submodel becomes possible at the fewest bits (or the bits asked for).
struct Price {
  std::optional<double> target_us;        ///< least T with the request's S; nothing: no memory
  std::optional<uint64_t> preload_bytes;  ///< least S with the request's T; nothing: none is enough
};

Price PriceOf(const Planning& planning, const Submodel& submodel);

/// kInfeasible, one line: the least T for this S, the least S for this T, and the submodel after.
Error Infeasible(const Planning& planning);

/// One line on the cheapest submodel that is worth more than `submodel` and not possible now.
std::string NextBetter(const Planning& planning, const Submodel& submodel);

}  // namespace sti
