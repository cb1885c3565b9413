// One plan of a pipeline on its way: what a run of it reads, where that lands, and a view of every
// shard. A pipeline has one for each input length that its plan is for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/container_index.h"
#include "model/resident_model.h"
#include "pipeline/lane/preload_buffer.h"
#include "schedule/load_schedule.h"
#include "shard/view.h"
#include "types/plan.h"

namespace sti {

/// What one run is for.
struct RouteNeed {
  const Grid<uint32_t>* bits = nullptr;  ///< that it computes with
  std::span<const ShardAtBits> keep;     ///< in the buffer afterwards, at no more bits than `bits`
  bool only_ahead = false;               ///< nothing is computed: only what stays is read
  bool refinements_apart = false;        ///< so that they can be left out
  ScheduleLimits limits;
};

/// A shard of a layer that did not run as planned.
struct DegradedShard {
  uint32_t layer = 0;  ///< original index
  uint32_t slice = 0;
  uint32_t bits = 0;  ///< that it ran at; 0: it was left out
  uint32_t planned_bits = 0;
};

/// One thread at a time.
class Route {
 public:
  /// `index` and `plan` outlive the route; CheckPlanFits has passed.
  Route(const ContainerIndex& index, const Plan& plan);

  /// Schedules all that is not yet in `buffer` and `resident`: of each layer its parameters and
  /// shards, in a last group the head. Does nothing if nothing has changed since the last time.
  [[nodiscard]] Status Prepare(const PreloadBuffer& buffer, const ResidentModel& resident,
                               const RouteNeed& need);

  /// The bytes of the group's resident part, where the schedule has one.
  [[nodiscard]] std::span<const uint8_t> ResidentBytes(uint32_t group,
                                                       std::span<const uint8_t> arena) const;

  struct Layer {
    std::span<const ShardView> views;
    std::span<const uint32_t> slices;  ///< of each view
  };
  /// Views of the k-th layer's shards: at the planned bits, or at fewer where `arrived` (see
  /// IoLane::TakeArrived) lacks planes; a shard without its base is left out, and so are shards
  /// beyond the first `most` in order of bits. What was degraded is appended to `degraded`.
  Result<Layer> ViewLayer(uint32_t k, std::span<const PartSet> arrived, uint32_t most,
                          const PreloadBuffer& buffer, std::span<const uint8_t> arena,
                          const std::string& file, std::vector<DegradedShard>* degraded);

  [[nodiscard]] const Plan& plan() const { return *plan_; }
  [[nodiscard]] const LoadSchedule& schedule() const { return *schedule_; }
  /// The same, to outlive the next Prepare.
  [[nodiscard]] std::shared_ptr<const LoadSchedule> shared_schedule() const { return schedule_; }
  [[nodiscard]] uint32_t layers() const { return static_cast<uint32_t>(plan_->layers.size()); }
  /// Of layers, and one for the head.
  [[nodiscard]] uint32_t groups() const { return layers() + 1; }
  /// Some part of the schedule comes to stay in the buffer.
  [[nodiscard]] bool FillsBuffer() const;
  /// Some shard of the layer can be computed from what is held.
  [[nodiscard]] bool HoldsBase(uint32_t k, const PreloadBuffer& buffer) const;

 private:
  struct Stamp {
    const Grid<uint32_t>* bits = nullptr;
    uint64_t buffer_version = 0;
    uint64_t keep_hash = 0;
    uint32_t residents = 0;
    bool only_ahead = false;
    bool refinements_apart = false;
    uint64_t arena_bytes = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  void WantResidents(const ResidentModel& resident, std::vector<ScheduledPart>& parts) const;
  void WantShard(const PreloadBuffer& buffer, const RouteNeed& need, uint32_t request, PartSet keep,
                 std::vector<ScheduledPart>& parts) const;
  Result<ShardView> ViewShardAt(size_t request, uint32_t bits, const PreloadBuffer& buffer,
                                std::span<const uint8_t> arena, const std::string& file);

  const ContainerIndex* index_;
  const Plan* plan_;
  std::vector<ShardRequest> requests_;  ///< [n * m], all shards
  Stamp stamp_;
  std::shared_ptr<const LoadSchedule> schedule_;
  std::vector<const ScheduledPart*> residents_;  ///< [groups] or null
  std::vector<ShardView> held_views_;            ///< [n * m] bits 0: not viewed yet
  std::vector<ShardView> views_;                 ///< [m] of the layer at hand
  std::vector<uint32_t> slices_;                 ///< [m]
  std::vector<uint32_t> order_;                  ///< [m]
};

}  // namespace sti
