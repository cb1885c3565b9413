// Which of its plans a pipeline runs an input under. A plan and its variants may be for several
// lengths of inputs and several clocks of the cores.
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/pass.h"
#include "types/plan.h"

namespace sti {

/// Returns the routes that inputs take: of each length that `plan` and its variants are for, one,
/// shortest first. Where several have a length, the one with the highest freq that is not above
/// `clock_khz` is taken, or with the lowest if all are above. With 0, an unknown clock, the highest
/// freq is taken. Thread-safe.
std::vector<RouteId> RoutesAtClock(const Plan& plan, uint64_t clock_khz);

}  // namespace sti
