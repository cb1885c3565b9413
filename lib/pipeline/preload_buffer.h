// The shards that stay in memory (STI 5.4), read once and shared by all routes of a pipeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "format/container_index.h"
#include "io/load_schedule.h"
#include "kernels/shard_view.h"
#include "pipeline/io_lane.h"
#include "types/plan.h"

namespace sti {

/// Immutable once loaded. One thread at a time before.
class PreloadBuffer {
 public:
  /// Room for what `plan` preloads; CheckPlanFits has passed.
  static Result<PreloadBuffer> Create(const ContainerIndex& index, const Plan& plan);

  /// Reads all of it. The lane is idle.
  [[nodiscard]] Status Load(IoLane& lane);

  /// A loaded shard; it is one of the plan's.
  [[nodiscard]] Result<ShardView> View(const ContainerIndex& index, const PreloadedShard& shard,
                                       const std::string& file) const;

  /// Bytes that the shards occupy, as read.
  [[nodiscard]] uint64_t bytes() const { return schedule_.arena_bytes; }

 private:
  uint32_t groups_ = 0;
  LoadSchedule schedule_;
  AlignedBuffer buffer_;
  std::map<std::pair<uint32_t, uint32_t>, size_t> requests_;  ///< of schedule_, by layer and slice
};

}  // namespace sti
