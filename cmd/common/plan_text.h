// Plans, described for people: sti-plan and sti-inspect say the same of one.
#pragma once

#include <string>
#include <string_view>

#include "types/model_info.h"
#include "types/plan.h"

namespace sti {

/// The traits of a profile that the words about its plan depend on, and that no plan has.
struct ProfileFacts {
  double noise = 0;       ///< a share: a target that it leaves open is said to be uncertain
  bool has_shape = true;  ///< false if nothing says for which size of model it was measured
};

/// A plan for a terminal of 80 columns: what runs, at which bits, and what is predicted.
std::string DescribePlan(const Plan& plan, const ProfileFacts& profile);
/// The same of a plan whose profile is not at hand.
std::string DescribePlan(const Plan& plan);

/// Returns the stages of a plan that has them, one a line, and what they come to; else empty.
std::string StagesText(const PlanStages& staged);

/// Returns whether the target that a plan is said to meet is left open by its profile's noise.
bool IsUncertain(const Plan& plan, double noise);

/// Returns "87.4 %" of a predicted accuracy, "agrees with the full model in 97.2 %", "cosine 0.9812
/// with the full model", "Spearman 0.8123 with the scores", or "loss
/// 0.3210"; empty if none of them is known.
std::string QualityText(const PredictedQuality& quality);

/// Returns what a person should know of a plan whose submodel was not trained; empty if it was.
std::string UntrainedWarning(const ModelInfo& info, const PlanCore& plan);

}  // namespace sti
