// The input and the output of a run. A pass is one computation on a route: it takes token
// ids, or the hidden rows that another pipeline has come to, through the layers of the route's
// plan, and gives logits or hidden rows. A route is the plan, one of its variants, or a level of
// its cascade.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/clock.h"
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
inline const Plan& PlanOf(const Plan& plan, RouteId route) {
  if (route.index == 0) return plan;
  const size_t further = route.index - 1;
  if (further < plan.variants.size()) return plan.variants[further];
  return plan.cascade->levels[further - plan.variants.size()].plan;
}

/// Tokens that the model embeds. `types` has one entry for each of `ids`.
struct TokenInput {
  std::span<const uint32_t> ids;
  std::span<const uint32_t> types;
};

/// Hidden rows [tokens, hidden] that layers before the plan's have come to. They are embedded.
struct HiddenInput {
  std::span<const float> rows;
};

/// One or several sequences, one after another, without padding. Not owning.
struct Pass {
  std::variant<TokenInput, HiddenInput> input;
  /// [sequences + 1] The first token of each sequence; the last entry is the end of all. Empty: one
  /// sequence.
  std::span<const uint32_t> offsets;
};

/// The result of a pass. `values` is used again: once it has grown, a run allocates nothing.
struct PassOutput {
  bool hidden = false;        ///< wanted: the hidden rows after the plan's last layer, and no head
  std::vector<float> values;  ///< logits [sequences, labels], or hidden rows [tokens, hidden]
  bool wants_attention = false;  ///< wanted: `attention`
  /// [tokens] What each token received of its sequence's attention, summed over the layers and
  /// slices that were computed (Tabi 4.2). Of a layer before the head, that of first tokens alone.
  std::vector<float> attention;
};

/// How one pass is to be answered. What the caller leaves open, the pipeline decides.
struct RunTerms {
  /// From this moment latency counts, if the caller has worked on the input before.
  std::optional<Clock::time_point> taken;
  /// Leave out what would come too late for this much after `taken`. The route's plan has times.
  std::optional<double> degrade_for_us;
  /// The plan to run under. Open: the shortest that holds the pass.
  std::optional<RouteId> route;
  /// The shards that stay in memory after the run, of those that it runs or that are there. Open:
  /// as the plan and the engagement say.
  std::optional<std::span<const ShardAtBits>> keep;
};

}  // namespace sti
