// A plan in force, with all that a pipeline makes of it and that its runs have taught: routes and
// their paces, guarantees, the engagement. A pipeline that goes on under another plan keeps the one
// before until the other has been loaded, and else goes back to it as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "format/container_index.h"
#include "model/held_rows.h"
#include "pipeline/core/engagement.h"
#include "pipeline/lane/guarantee.h"
#include "pipeline/lane/route.h"
#include "pipeline/pass.h"
#include "types/plan.h"

namespace sti {

/// One plan on its way, at one clock. It stays in place, as its routes and its engagement want. One
/// thread at a time.
struct PlanInForce {
  /// `index` outlives it; FindPlanFault finds no fault in the plan. `clock_khz` is as
  /// PipelineOptions has it.
  PlanInForce(const ContainerIndex& index, Plan its_plan, uint64_t clock_khz);
  PlanInForce(const PlanInForce&) = delete;
  PlanInForce& operator=(const PlanInForce&) = delete;

  /// Returns the route of the longest inputs: the plan itself, or at another clock a variant in its
  /// place.
  [[nodiscard]] RouteId MainRoute() const { return by_length.back(); }
  /// Returns the route that such inputs begin on: the main one, or the first level of the cascade.
  [[nodiscard]] RouteId FirstRoute() const {
    return plan.cascade ? CascadeRoute(plan, 0) : MainRoute();
  }
  /// Returns the route of an input of so many tokens: the shortest that holds it, the longest for
  /// what none holds.
  [[nodiscard]] RouteId RouteFor(size_t tokens) const;
  /// Returns the most tokens of a sequence.
  [[nodiscard]] uint32_t max_length() const { return PlanOf(plan, MainRoute()).length; }
  /// Returns the most tokens of a pass, all its sequences together.
  [[nodiscard]] uint32_t most_tokens() const { return PlanOf(plan, MainRoute()).most_tokens(); }
  /// Returns the most slices that a layer of the routes in use has.
  [[nodiscard]] uint32_t MaxWidth() const;
  /// Returns the layers that the routes in use compute, ascending.
  [[nodiscard]] std::vector<uint32_t> Layers() const;
  /// Returns the guarantee of a route; null: it has none.
  [[nodiscard]] Guarantee* GuaranteeOf(RouteId route);

  const Plan plan;
  std::vector<Route> routes;                         ///< [RouteId]
  std::vector<std::optional<Guarantee>> guarantees;  ///< [RouteId] nothing: not guaranteed
  std::vector<RouteId> by_length;  ///< the routes of inputs at this clock, shortest first
  std::vector<RouteId> in_use;     ///< these, or those of the cascade's levels, in order
  Engagement engagement;
  /// The embedding rows that guarantees need; null: they have not been read.
  std::shared_ptr<const HeldRows> held_rows;
};

}  // namespace sti
