// The second opinion on a plan's cascade.
#pragma once

#include <string>

#include "plan/planner.h"
#include "second_figures.h"

namespace sti::test {

/// Notes each figure of a plan with a cascade that is not what the documents say.
void HoldCascade(const PlanInput& input, const PlanRequest& request, const Plan& plan,
                 SecondNotes* notes);

/// Notes the times of a plan, a variant or a cascade level that differ.
void HoldTimes(const std::string& name, const PlanTimes& got, const PlanTimes& wanted,
               const PlanCore& plan, SecondNotes* notes);

}  // namespace sti::test
