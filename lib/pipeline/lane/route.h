// One plan of a pipeline on its way. A route knows what a run under its plan reads, in which order
// and where that lands (its schedule), gives a view of every shard that has come, and learns how
// fast the plan's layers are now (its pace). A pipeline has one for the plan, for each variant and
// for each cascade level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/container_index.h"
#include "model/resident_model.h"
#include "pipeline/core/engagement.h"
#include "pipeline/lane/pace.h"
#include "pipeline/lane/preload_buffer.h"
#include "pipeline/pass.h"
#include "pipeline/run_result.h"
#include "schedule/load_schedule.h"
#include "shard/view.h"
#include "types/plan.h"

namespace sti {

/// The purpose of one job of the lane.
struct RouteNeed {
  const Grid<uint32_t>& bits;  ///< [n, m] bits that the job computes with
  /// Shards in the buffer afterwards, at most at these bits: of a shard that is there several
  /// times, the most of them.
  std::span<const ShardAtBits> keep;
  /// Shards that will be in the buffer when the job begins, if it does not begin now.
  std::span<const ShardAtBits> held_then = {};
  bool only_ahead = false;         ///< nothing is computed: only what stays is read
  bool refinements_apart = false;  ///< refinements are read apart, so that they can be left out
  ScheduleLimits limits;
};

/// Returns whether runs under this plan read all they need before they compute, as it counts on.
bool ReadsBeforeComputing(const PlanCore& plan);

/// A plan, named by its RouteId, with its schedule, views and pace. One thread at a time.
class Route {
 public:
  /// `index` and `plan`, which `id` names, outlive the route; FindPlanFault finds no fault in the
  /// plan within the container. `planned_reads`: bytes of shards that a run counts on reading.
  Route(const ContainerIndex& index, const PlanCore& plan, RouteId id, uint64_t planned_reads);

  /// Schedules all that is not yet in `buffer` and `resident`: of each layer its parameters and
  /// shards, then the head, and words that it wants. Does nothing if nothing has changed since the
  /// last time.
  [[nodiscard]] Status Prepare(const PreloadBuffer& buffer, const ResidentModel& resident,
                               const RouteNeed& need);

  /// Returns the bytes of the group's resident part, or of its rows of words; none if the schedule
  /// has none.
  [[nodiscard]] std::span<const uint8_t> ResidentBytes(uint32_t group,
                                                       std::span<const uint8_t> arena) const;

  /// Holds the views of one layer's shards; valid until the next ViewLayer.
  struct Layer {
    std::span<const ShardView> views;
    std::span<const uint32_t> slices;  ///< [views] stored slice of each
  };
  /// The memory that the shards of one layer are in, and what has come there.
  struct LayerMemory {
    std::span<const PartSet> arrived;  ///< [m] parts of each shard (IoLane::TakeArrived)
    std::span<const uint8_t> arena;    ///< where they have arrived
    const PreloadBuffer& buffer;       ///< where other parts are held
    const std::string& file;           ///< the container, for messages
  };
  /// Views the k-th layer's shards: at the planned bits, or at fewer where planes are neither held
  /// nor arrived. A shard without its base is left out, and so are all but the `most` shards of
  /// most bits. Appends to `degraded` each shard that has fewer bits than planned.
  Result<Layer> ViewLayer(uint32_t k, uint32_t most, const LayerMemory& memory,
                          std::vector<DegradedShard>* degraded);

  [[nodiscard]] RouteId id() const { return id_; }
  [[nodiscard]] const PlanCore& plan() const { return *plan_; }
  [[nodiscard]] Pace& pace() { return pace_; }
  [[nodiscard]] const Pace& pace() const { return pace_; }
  /// Returns the bytes a microsecond that the plan, which has times, counts on; 0: it reads
  /// nothing.
  [[nodiscard]] double PlannedRate() const;
  /// Returns the schedule. Whoever reads by it holds it, since the next Prepare makes another.
  [[nodiscard]] std::shared_ptr<const LoadSchedule> schedule() const { return schedule_; }
  [[nodiscard]] uint32_t layers() const { return static_cast<uint32_t>(plan_->layers.size()); }
  /// Returns the number of groups of the schedule: one for each layer, one for the head, and of a
  /// model that continues texts one for every so many words, with whose rows its head goes on.
  [[nodiscard]] uint32_t groups() const { return first_word_group() + word_groups_; }
  /// Returns the first group of words, which is groups() if there is none.
  [[nodiscard]] uint32_t first_word_group() const { return layers() + 1; }
  /// Returns the words of a group.
  [[nodiscard]] WordRange WordsOf(uint32_t group) const;
  /// Returns whether some shard of the layer can be computed from what is held.
  [[nodiscard]] bool HoldsBase(uint32_t k, const PreloadBuffer& buffer) const;
  /// Returns the bytes of the reads without which some shard of the layer cannot be computed at
  /// all.
  [[nodiscard]] uint64_t EssentialBytes(uint32_t k, const PreloadBuffer& buffer) const;

 private:
  /// The need that the schedule was made for, beside the bits in `requests_`, `kept_` and `held_`.
  struct Stamp {
    uint32_t residents = 0;
    bool only_ahead = false;
    bool refinements_apart = false;
    ScheduleLimits limits;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  [[nodiscard]] bool IsPreparedFor(const Stamp& stamp, const PreloadBuffer& buffer,
                                   const RouteNeed& need) const;
  void WantResidents(const ResidentModel& resident, std::vector<ScheduledPart>& parts) const;
  void WantWords(std::vector<ScheduledPart>& parts) const;
  void NoteHeld(const PreloadBuffer& buffer, std::span<const ShardAtBits> held_then);
  void WantShard(const PreloadBuffer& buffer, const RouteNeed& need, uint32_t request, PartSet keep,
                 std::vector<ScheduledPart>& parts) const;
  Result<ShardView> ViewShardAt(size_t request, uint32_t bits, const LayerMemory& memory);

  const ContainerIndex* index_;
  const PlanCore* plan_;
  RouteId id_;
  uint64_t planned_reads_;
  uint32_t words_a_group_;
  uint32_t word_groups_ = 0;
  Pace pace_;
  std::vector<ShardRequest> requests_;  ///< [n * m], all shards
  std::vector<ShardAtBits> kept_;
  std::vector<PartSet> held_;   ///< [n * m] in the buffer before the job
  std::optional<Stamp> stamp_;  ///< nothing: there is no schedule yet
  std::shared_ptr<const LoadSchedule> schedule_;
  std::vector<const ScheduledPart*> residents_;  ///< [groups] or null
  std::vector<ShardView> held_views_;            ///< [n * m] bits 0: not viewed yet
  std::vector<ShardView> views_;                 ///< [m] of the layer at hand
  std::vector<uint32_t> slices_;                 ///< [m]
  std::vector<uint32_t> order_;                  ///< [m]
};

}  // namespace sti
