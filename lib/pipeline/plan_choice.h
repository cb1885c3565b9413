#pragma once

#include <cstdint>
#include <vector>

#include "types/plan.h"

namespace sti {

/// The plans that inputs run under: of each length that `plan` and its variants are for, one,
/// shortest first. Where several have a length, the one with the highest freq that is not above
/// `clock_khz`, or with the lowest if all are above. 0: the clock is not known, the highest counts.
/// Thread-safe; the plans stay `plan`'s own.
std::vector<const Plan*> PlansAtClock(const Plan& plan, uint64_t clock_khz);

}  // namespace sti
