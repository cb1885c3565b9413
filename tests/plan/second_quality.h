// The second opinion on what a plan is predicted to lose (docs/guide/planning.md, "Worth: a loss
// that is a sum over shards").
#pragma once

#include <string>

#include "plan/planner.h"
#include "second_figures.h"

namespace sti::test {

/// Returns the quality of a plan's submodel at these bits; nothing known where it was not measured.
PredictedQuality SecondQualityOf(const PlanInput& input, const PlanCore& plan,
                                 const Grid<uint32_t>& bits);

/// Notes what differs.
void HoldQuality(const std::string& name, const PredictedQuality& got,
                 const PredictedQuality& wanted, SecondNotes* notes);

}  // namespace sti::test
