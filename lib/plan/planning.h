// A plan is made for one scope: a length and a clock. This file holds the parts that every strategy
// needs for that: the validated input, the times of the device, the cost of each shard at each
// bitwidth, and the submodels that the request allows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "plan/allocation.h"
#include "plan/evaluation.h"
#include "plan/request.h"
#include "plan/submodels.h"
#include "plan/value.h"
#include "types/plan.h"

namespace sti {

/// Which of the request's plans is made.
struct PlanningScope {
  uint32_t length = 0;  ///< in tokens
  uint64_t clock = 0;   ///< kHz; 0: the highest profiled
  /// A plan whose preload buffer this one shares: what it holds costs no IO, and stays as it is.
  const Plan* host = nullptr;
};

/// Validated input and everything derived from it once. References must outlive it.
struct Planning {
  const PlanInput& input;
  const PlanRequest& request;
  PlanningScope scope;
  DeviceModels devices;
  ShardCosts costs;
  std::vector<Submodel> submodels;  ///< that the request allows
  std::vector<ShardId> order;       ///< most important first
  ValueModel value;
  std::vector<std::string>* explain = nullptr;

  static Result<Planning> Prepare(const PlanInput& input, const PlanRequest& request,
                                  const PlanningScope& scope, std::vector<std::string>* explain);

  void Say(std::string line) const {
    if (explain != nullptr) explain->push_back(std::move(line));
  }
  [[nodiscard]] ComputeLane LaneOfSubmodel(const Submodel& submodel) const;
  /// (n - 1) * T_comp + T_last + T_fixed, in microseconds.
  [[nodiscard]] double ComputeTime(const Submodel& submodel) const;
  /// Those whose compute alone is done by T; all without a target.
  [[nodiscard]] std::vector<Submodel> ComputeFeasible() const;
  [[nodiscard]] Allocation AllocationOf(const Submodel& submodel, bool with_target = true) const;
  /// The submodel's shards (n * m, layer order) as `order` ranks them.
  [[nodiscard]] std::vector<size_t> ShardOrder(const Submodel& submodel) const;
  /// Loss of these bits (value.h).
  [[nodiscard]] double LossOf(const Allocation& allocation) const;

  /// A plan with everything but layers, slices, bits, preload and figures.
  [[nodiscard]] Plan EmptyPlan() const;
  /// Rows 0..m-1 at one bitwidth, nothing preloaded, no figures.
  [[nodiscard]] Plan UniformPlan(const Submodel& submodel, uint32_t bits) const;
  [[nodiscard]] Plan PlanOf(const Allocation& allocation) const;

 private:
  [[nodiscard]] std::vector<LevelRange> RangesOf(const Submodel& submodel) const;
  [[nodiscard]] bool IsHeld(ShardId id) const;
};

/// The length that the request means, in tokens.
Result<uint32_t> PlannedLength(const PlanInput& input, const PlanRequest& request);

/// Strategies sti, sti-paper and random.
Result<Plan> PlanElastic(const Planning& planning);

/// Strategies load-exec, stdpl and preload.
Result<Plan> PlanBaseline(const Planning& planning);

}  // namespace sti
