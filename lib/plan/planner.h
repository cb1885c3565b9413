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

/// Makes a plan: bits, preload and figures, then turns and variants, or a cascade, where asked for.
/// Returns kUsage for a request that makes no sense, kDamaged or kForeign for input that
/// contradicts itself or belongs to another model, kInfeasible if no plan meets the request; the
/// message then holds the smallest feasible T. Strategy kSti never misses T while some plan meets
/// it; the only plans with `meets_target` false come from kStiPaper and kRandom. `explain`, where
/// given, receives one line a decision. Thread-safe.
Result<Plan> MakePlan(const PlanInput& input, const PlanRequest& request,
                      std::vector<std::string>* explain = nullptr);

/// Makes a plan as the other MakePlan does, of an input that has been checked already.
Result<Plan> MakePlan(const CheckedInput& input, const PlanRequest& request,
                      std::vector<std::string>* explain = nullptr);

}  // namespace sti
