// The guarantee of one plan or variant on its way: its fallback made ready to run, and the moments
// at which a run has to give up on IO (types/fallback.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "format/container_index.h"
#include "pipeline/lane/pace.h"
#include "pipeline/lane/preload_buffer.h"
#include "pipeline/lane/route.h"
#include "pipeline/pass.h"
#include "types/plan.h"

namespace sti {

/// A fallback and its route, all of whose shards lie in the preload buffer. One thread at a time.
class Guarantee {
 public:
  /// `index` and `plan`, which has a fallback and which `id` names, outlive the guarantee;
  /// FindPlanFault finds no fault in the plan within the container.
  Guarantee(const ContainerIndex& index, const PlanCore& plan, RouteId id);

  /// Returns the fallback as a plan of its own.
  [[nodiscard]] const PlanCore& plan() const { return *fallback_plan_; }
  [[nodiscard]] std::span<const ShardAtBits> shards() const { return shards_; }
  [[nodiscard]] Route& route() { return route_; }
  /// Returns whether all of the fallback is in memory.
  [[nodiscard]] bool IsHeld(const PreloadBuffer& buffer) const;

  /// Returns the latest moment, in microseconds since the clock of a deadline began, at which a run
  /// can give up on the embedding rows, at the plan's pace. Where layers have become so slow that
  /// the fallback will be narrower in any case, rows still have the time that they need.
  [[nodiscard]] double RowsByUs(double deadline_us, const Pace& pace);
  /// Returns the latest moment at which a run can begin the plan's k-th layer and still give up
  /// behind it, or give up instead.
  [[nodiscard]] double LayerByUs(uint32_t k, double deadline_us, const Pace& pace) const;
  /// Returns that moment for one who has waited until then, and has woken up a little later.
  [[nodiscard]] double PastLayerByUs(uint32_t k, double deadline_us, const Pace& pace) const {
    return LayerByUs(k, deadline_us, pace) + fallback().margin_us / 2;
  }
  /// Returns the first of the fallback's layers that is left to a run that has computed the first
  /// `done` layers of the plan; nothing if it starts from the embeddings.
  [[nodiscard]] std::optional<size_t> GoesOnAt(uint32_t done) const;

 private:
  [[nodiscard]] const Fallback& fallback() const { return *plan_->fallback; }
  [[nodiscard]] double BeforeUs(double need_us, double deadline_us, const Pace& pace) const;

  const ContainerIndex* index_;
  const PlanCore* plan_;
  std::unique_ptr<const PlanCore> fallback_plan_;  ///< stays in place, as the route wants
  std::vector<ShardAtBits> shards_;
  std::vector<double> give_up_us_;  ///< [layers of the plan] before the target
  Route route_;
};

}  // namespace sti
