// What a plan will do: its AIBs, latency and memory, computed from the plan alone.
//
// Every plan the planner returns takes its numbers from here, and so does a check of a plan that
// somebody edited: one meaning of each number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/device_model.h"
#include "plan/memory.h"
#include "plan/request.h"
#include "types/plan.h"

namespace sti {

struct PlanCheck {
  bool valid = false;
  bool fits_memory = true;
  std::string problem;         ///< empty if valid, else the first reason
  std::vector<double> aib_us;  ///< [n]; empty for load-exec and preload; slack 0 without a target
  std::optional<double> slack_us;
  double latency_us = 0;           ///< by medians
  double p99_us = 0;               ///< by p99
  double deciding_latency_us = 0;  ///< by the request's risk
  uint64_t peak_bytes = 0;
  uint64_t preload_bytes = 0;
  uint64_t parameter_bytes = 0;
  /// Staging of streamed shards: what delays none of the plan, its variants and its turns, or what
  /// the memory leaves. Latencies count on it.
  uint64_t staging_bytes = 0;
  std::optional<PlanTimes> times;  ///< none of a turn
  std::optional<double> loss;      ///< predicted, where the importance file holds A(n, m)
  std::optional<double> accuracy;
};

/// Figures of a well-formed plan of this model, at plan.target_us.
PlanCheck EvaluatePlan(const PlanInput& input, const PlanRequest& request,
                       const DeviceModels& devices, const Plan& plan);

/// EvaluatePlan for a plan from elsewhere. The request's risk and memory count; its target, where
/// given, replaces the plan's. kData if the plan does not belong to the model or names what it has
/// not; kUsage if the profile cannot tell its times. A plan that is merely late or too large is an
/// answer (`valid` false), not an error. Thread-safe.
Result<PlanCheck> CheckPlan(const PlanInput& input, const PlanRequest& request, const Plan& plan);

/// Judges a plan that was made here, or has been checked. A turn of it that the memory cannot stage
/// may have no finite time.
Result<PlanCheck> JudgePlan(const PlanInput& input, const PlanRequest& request, const Plan& plan);

/// Each turn of a plan that CheckPlan accepts, as the planner would judge it; `parameter_bytes` is
/// what the turn reads. Errors are those of CheckPlan.
Result<std::vector<PlanCheck>> CheckTurns(const PlanInput& input, const PlanRequest& request,
                                          const Plan& plan);

/// Writes the figures into the plan. `meets_target` becomes `valid`.
void FillFigures(const PlanCheck& check, Plan* plan);

}  // namespace sti
