// The planner: which submodel, which bits a shard, what to preload (STI 5.3 and 5.4).
//
// Pure: numbers in, a plan out. No IO, no clock, no threads, no globals; memory in proportion to
// the shards of the model. The same input gives the same plan on every machine.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/request.h"
#include "types/plan.h"

namespace sti {

/// Plans: bits, preload and figures, then variants and turns where asked for. kUsage for a request
/// that makes no sense, kData for input that contradicts itself or belongs to another model,
/// kInfeasible if no plan meets the request; the message then holds the smallest feasible T.
/// Strategy "sti" never misses T while some plan meets it; the only plans with `meets_target` false
/// come from "sti-paper" and "random". `explain`, where given, receives one line a decision.
/// Thread-safe.
Result<Plan> MakePlan(const PlanInput& input, const PlanRequest& request,
                      std::vector<std::string>* explain = nullptr);

}  // namespace sti
