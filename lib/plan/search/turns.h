// Back-to-back turns (STI 3.3): what stays in memory from one input to the next, and what the IO
// that this frees is spent on.
#pragma once

#include "plan/search/context.h"

namespace sti {

/// Fills plan->turns and plan->turn_bytes as the request asks. Turn 1 is the plan itself. After a
/// turn the longest prefix of its shards, in layer order, that fits the turn buffer stays; the next
/// turn reads only planes that are missing, in the time that AIBs leave and in fewer bytes than the
/// turn before, and raises shards in the order of gain a microsecond. What it raises it could also
/// stream from then on, so that fidelity never falls.
void PlanTurns(const PlanningContext& context, Plan* plan);

}  // namespace sti
