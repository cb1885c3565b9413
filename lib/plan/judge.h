// Judges what a plan will do: computes its budgets, latency and memory from the plan alone. The
// planner takes every number of a plan from here, and so does a check of a plan that somebody
// edited, so that each number has one meaning. A *verdict* holds the numbers of a plan, of one of
// its variants, or of one of its turns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/cascade_price.h"
#include "plan/device_model.h"
#include "plan/request.h"
#include "types/importance.h"
#include "types/plan.h"

namespace sti {

/// Holds the numbers of a plan, of one of its variants, or of one of its turns.
struct Verdict {
  bool valid = false;
  bool fits_memory = true;
  std::string problem;  ///< empty if valid, else the first reason
  /// [n] AIBs, with slack 0 where there is no target; empty for load-exec and preload.
  std::vector<double> aib_us;
  std::optional<double> slack_us;  ///< nothing for a turn
  double latency_us = 0;           ///< by medians
  double p99_us = 0;               ///< by p99
  double deciding_latency_us = 0;  ///< by the risk that decides
  uint64_t peak_bytes = 0;         ///< bytes of the whole process; 0 for a turn
  uint64_t preload_bytes = 0;
  uint64_t fallback_bytes = 0;   ///< fallback and its rows, beside the preload; 0 without one
  uint64_t parameter_bytes = 0;  ///< bytes of all shards; for a turn, of its reads
  /// Bytes of staging for streamed shards, which latencies count on: enough to delay none of the
  /// plan, its variants and its turns, or what the memory leaves. 0 for a turn.
  uint64_t staging_bytes = 0;
  std::optional<PlanTimes> times;  ///< nothing for a turn
  PredictedQuality quality;        ///< known where the importance file holds A(n, m)
};

/// Holds the verdicts on a plan, its variants, its turns and its cascade.
struct Verdicts {
  Verdict plan;
  std::vector<Verdict> variants;
  std::vector<Verdict> turns;
  std::optional<CascadeFigures> cascade;  ///< of a plan that has one; `plan` is about it alone

  /// Returns the first reason why something is not valid; empty if all is.
  [[nodiscard]] std::string problem() const;
};

/// Returns the models that a plan, or one of its turns, is judged by: those for its target, which
/// are given, or where it has none those for runs as long as its own median.
DeviceModels ModelsForRun(const CheckedInput& input, const DeviceModels& for_target,
                          const PlanCore& plan, const PlanTurn* turn = nullptr);

/// Returns the figures of a plan, or of one of its turns, at plan.target_us. The plan has no fault
/// within the model, and the models are for its length, clock and target.
Verdict Evaluate(const CheckedInput& input, const Judging& judging, const DeviceModels& for_target,
                 const Plan& plan, const PlanTurn* turn = nullptr);

/// Returns the figures of a variant as if it were a plan of its own, on the same conditions.
Verdict EvaluateVariant(const CheckedInput& input, const Judging& judging,
                        const DeviceModels& for_target, const PlanCore& variant);

/// Returns the figures of a plan from elsewhere. kDamaged or kForeign if it has a fault within the
/// model, kUsage if the profile cannot tell its times. A plan that is merely late or too large is
/// an answer (`valid` false), not an error. Thread-safe.
Result<Verdict> CheckPlan(const PlanInput& input, const Judging& judging, const Plan& plan);

/// Returns the figures of each turn of a plan. Errors are those of CheckPlan. Thread-safe.
Result<std::vector<Verdict>> CheckTurns(const PlanInput& input, const Judging& judging,
                                        const Plan& plan);

/// Returns the figures of a plan, its variants, turns and cascade. Errors are those of CheckPlan.
/// Thread-safe.
Result<Verdicts> JudgePlan(const PlanInput& input, const Judging& judging, const Plan& plan);

/// Returns the quality that the whole model was measured to have at the most bits. The importance
/// has A(n, m).
PredictedQuality WholeQuality(const Importance& importance, const ModelInfo& model);

/// Returns kDamaged or kForeign if a plan from elsewhere has a fault within the model.
Status CheckFits(const CheckedInput& input, const Plan& plan);

/// Returns the device models for a plan from elsewhere; errors are those of CheckPlan.
Result<DeviceModels> CheckedDevices(const CheckedInput& input, const Judging& judging,
                                    const Plan& plan);

/// Writes the figures into the plan or the variant. `meets_target` becomes `valid`.
void FillFigures(const Verdict& verdict, PlanCore* plan);

/// Writes the figures into the turn.
void FillFigures(const Verdict& verdict, PlanTurn* turn);

/// Gives a plan, its variants and its turns the figures that they have together, with one arena in
/// one memory. Returns why one of them does not do there; empty if all do.
Result<std::string> FillTogether(const CheckedInput& input, const Judging& judging, Plan* plan);

}  // namespace sti
