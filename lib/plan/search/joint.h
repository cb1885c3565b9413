// Strategy sti: submodel, bits and preload chosen together (docs/guide/planning.md, "The search").
// Internal to lib/plan.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "plan/search/context.h"

namespace sti {

struct JointChoice {
  Submodel submodel;
  Allocation allocation;
  double loss = 0;
};

/// The least loss over `candidates`, all compute-feasible; nothing if the fewest bits of none fit.
/// Submodels are taken by what they could reach at best, and the search ends where that is no
/// better than what was found.
std::optional<JointChoice> ChooseJointly(const PlanningContext& context,
                                         std::span<const Submodel> candidates);

/// Bits of one submodel with all but the least loss, nothing left over that one shard could use;
/// nothing if its fewest bits do not fit.
std::optional<Allocation> BestBits(const PlanningContext& context, const Submodel& submodel);

/// One shard's step to more bits on the way to full fidelity.
struct Step {
  ShardId id;
  size_t level = 0;    ///< after it
  double load_us = 0;  ///< it adds
  double gain = 0;     ///< w(shard) times the fall of d
};

/// Steps along each shard's lower convex hull of lack over IO time, most gain a microsecond first.
std::vector<Step> StepsByDensity(const PlanningContext& context);

}  // namespace sti
