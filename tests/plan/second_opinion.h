// A second opinion on every figure of a plan: each is computed again from the plan's choices (its
// layers, bits, preload and words), slowly, by what spec/plan.md and docs/guide/planning.md say,
// and shares no code with lib/plan.
#pragma once

#include <string>
#include <vector>

#include "plan/planner.h"

namespace sti::test {

/// Returns a line for each figure of the plan, its variants, turns, cascade and fallback that is
/// not what the documents say: "variants[0].times.stall_us is 5, and 4 anew".
std::vector<std::string> FiguresThatDiffer(const PlanInput& input, const PlanRequest& request,
                                           const Plan& plan);

}  // namespace sti::test
