// The request that a plan answers, as far as the plan tells: a device that has changed needs
// another plan for it.
#pragma once

#include "base/result.h"
#include "plan/request.h"
#include "types/model_info.h"
#include "types/plan.h"

namespace sti {

/// Returns a request that `plan`, of the model `info`, answers: its target, the bytes that it
/// preloads, its lengths and clocks, turns and lead time, and whether it has a cascade. What a plan
/// does not tell is as nobody had asked for it: a least width or accuracy, a share that counts as
/// similar, fewer levels of a cascade. Times count by medians where the plan's own 99th percentile,
/// or that through all levels, misses its target, and submodels that were not trained are allowed
/// where it is one. Returns kUsage if no plan can take its place: one without a
/// target, of a cold start, or of a strategy that does not choose bits by shard.
Result<PlanRequest> RequestOf(const Plan& plan, const ModelInfo& info);

}  // namespace sti
