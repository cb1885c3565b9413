// One plan of a pipeline, ready to run: what it streams, where that lands in the arena, and a view
// of every shard. A pipeline has one for each input length that its plan is for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/container_index.h"
#include "io/load_schedule.h"
#include "kernels/shard_view.h"
#include "pipeline/preload_buffer.h"
#include "types/plan.h"

namespace sti {

/// One thread at a time.
class Route {
 public:
  /// `plan` outlives the route; CheckPlanFits has passed. At most `staging_bytes` of arena (0: as
  /// many as the plan streams); InfeasibleError if one layer needs more.
  static Result<Route> Create(const ContainerIndex& index, const Plan& plan,
                              uint64_t staging_bytes);

  /// Views of the preloaded shards, for good: `preload` is loaded and outlives the route.
  [[nodiscard]] Status Bind(const ContainerIndex& index, const PreloadBuffer& preload,
                            const std::string& file);

  /// Views of the k-th layer's shards [m], once its reads into `arena` are complete and checked.
  Result<std::span<const ShardView>> ViewLayer(const ContainerIndex& index, uint32_t k,
                                               std::span<const uint8_t> arena,
                                               const std::string& file);

  [[nodiscard]] const Plan& plan() const { return *plan_; }
  [[nodiscard]] const LoadSchedule& schedule() const { return schedule_; }
  [[nodiscard]] uint32_t layers() const { return static_cast<uint32_t>(plan_->layers.size()); }

 private:
  struct Streamed {
    uint32_t position;  ///< in the row
    size_t request;     ///< in schedule_
  };
  explicit Route(const Plan& plan) : plan_(&plan) {}

  const Plan* plan_;
  LoadSchedule schedule_;
  std::vector<std::vector<ShardView>> views_;    ///< [n][m]
  std::vector<std::vector<Streamed>> streamed_;  ///< [n] which slices stream
};

}  // namespace sti
