// The fixed-bits strategies of STI Table 4, load-exec, stdpl and preload: one bitwidth, each with
// its own delay model, and the rule of compute planning over what meets T under that model.
#pragma once

#include "base/result.h"
#include "plan/search/context.h"
#include "types/plan.h"

namespace sti {

/// Returns a plan without figures, by the strategy of the request. kUsage if the model or the
/// profile lacks the bits, kInfeasible if no submodel is in time and memory.
Result<Plan> PlanFixedBits(const PlanningContext& context);

/// Returns the 99th percentile of loading a submodel at these bits, and then computing it. kUsage
/// if the model or the profile lacks the bits.
Result<double> TimeToLoadAndCompute(const PlanningContext& context, const Submodel& submodel,
                                    uint32_t bits);

}  // namespace sti
