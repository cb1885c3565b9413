// The routes of a pipeline: the plans that it runs inputs under. A route is the plan, one of its
// variants, for another length or another clock of the cores, or a level of its cascade.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "types/plan.h"
#include "types/shard_id.h"

namespace sti {

/// Names a plan of a pipeline: 0 is the plan itself, then come its variants in their order, then
/// the levels of its cascade before the last, which is the plan itself.
struct RouteId {
  uint32_t index = 0;
  friend bool operator==(RouteId, RouteId) = default;
};

/// Returns the number of cascade levels, the plan itself being the last; 0 without a cascade.
inline size_t CascadeLevelsOf(const Plan& plan) {
  return plan.cascade ? plan.cascade->levels.size() + 1 : 0;
}

/// Returns the route of a cascade level, from 0; the plan has so many.
inline RouteId CascadeRoute(const Plan& plan, size_t level) {
  if (level + 1 >= CascadeLevelsOf(plan)) return {};
  return {static_cast<uint32_t>(1 + plan.variants.size() + level)};
}

/// Returns the cascade level, from 0, that a route of a plan with a cascade is.
inline size_t CascadeLevelOf(const Plan& plan, RouteId route) {
  return route.index == 0 ? plan.cascade->levels.size() : route.index - 1 - plan.variants.size();
}

/// Returns the number of routes of a plan.
inline size_t RoutesOf(const Plan& plan) {
  return 1 + plan.variants.size() + (plan.cascade ? plan.cascade->levels.size() : 0);
}

/// Returns the plan that a route runs.
inline const PlanCore& PlanOf(const Plan& plan, RouteId route) {
  if (route.index == 0) return plan;
  const size_t further = route.index - 1;
  if (further < plan.variants.size()) return plan.variants[further];
  return plan.cascade->levels[further - plan.variants.size()].plan;
}

/// Returns the routes that inputs take: of each length that `plan` and its variants are for, one,
/// shortest first. Where several have a length, the one with the highest freq that is not above
/// `clock_khz` is taken, or with the lowest if all are above. With 0, an unknown clock, the highest
/// freq is taken. Thread-safe.
std::vector<RouteId> RoutesAtClock(const Plan& plan, uint64_t clock_khz);

/// Returns the shards that a cascade hands on behind `level`, from 0, ascending: those that the
/// levels up to it run and the levels behind it run too. They stay in memory until those have run,
/// so that no plane is read twice for one input. A shard is there twice if both its planes and its
/// full fidelity are. The plan has so many levels; behind the last of them there is nothing.
std::vector<ShardAtBits> HandedOn(const Plan& plan, size_t level);

/// Returns the bytes of shards that a run on a route counts on reading. The plan's buffer also
/// holds its words, whose rows have `row_bytes` each.
uint64_t PlannedReads(const Plan& plan, RouteId route, uint64_t row_bytes);

}  // namespace sti
