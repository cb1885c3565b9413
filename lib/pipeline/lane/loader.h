// Brings into memory what runs compute with. The loader owns the IO lane and all that reads land
// in: the arena, for what one run needs, and the preload buffer, for the shards that stay. It gives
// the lane one job after another, and knows in which state the last one is:
//
//   kIdle      Nothing is in flight, and all that stays is in the buffer.
//   kWoken     The lane reads for a run that has not begun. A run on the same route and terms takes
//              the reads over.
//   kRunning   The lane reads for a run, or for the buffer alone.
//   kTrailing  A run that was degraded or interrupted has ended, and did not wait for its last
//              reads.
//
// Wake leads from kIdle to kWoken, a run to kRunning. A run ends in kIdle, but in kTrailing if
// reads are still in flight and it was interrupted, or was degraded and ended well. Before the next
// job the loader becomes idle: it waits for these reads, takes over what stays, evicts the rest,
// and is in kIdle; interrupted meanwhile, it is in kTrailing. Only a degraded run has no time for
// that. It may set the lane of another degraded run aside, with all that its reads may still land
// in, and goes on with a new lane and a new arena. After a failed run nothing is taken over but
// parts that have arrived and are checked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "io/container_file.h"
#include "model/resident_model.h"
#include "pipeline/core/engagement.h"
#include "pipeline/lane/io_lane.h"
#include "pipeline/lane/preload_buffer.h"
#include "pipeline/lane/route.h"
#include "pipeline/pass.h"
#include "pipeline/run_result.h"

namespace sti {

class IoShare;

struct LoaderOptions {
  bool lazy = false;  ///< memory is touched when it is needed, not ahead
  bool lock = false;  ///< what reads land in is kept in memory (base/page_space.h)
  IoShare* share = nullptr;
  Interrupt* interrupt = nullptr;  ///< ends waits with kCancelled
};

/// The purpose of what the lane reads next.
struct LaneJob {
  RouteId route;
  const Grid<uint32_t>& bits;         ///< [n, m] bits that the route computes with
  std::span<const ShardAtBits> keep;  ///< shards in the buffer when the job is done
  /// As RouteNeed::held_then.
  std::span<const ShardAtBits> held_then = {};
  bool evict = false;       ///< all other shards leave the buffer then
  bool degrade = false;     ///< refinements are read apart, and may be left out
  bool only_ahead = false;  ///< the lane reads for the buffer alone
  bool tolerant = false;    ///< as IoJob::tolerant
};

/// Owns the lane, and the memory that it reads into. One thread at a time.
class Loader {
 public:
  /// The limits that a plan is read by, and its places in the buffer.
  struct Places {
    uint64_t most_staging = 0;  ///< most bytes of arena; 0: as the plan says
    ScheduleLimits limits;      ///< of the plan's schedules
    uint32_t depth = BlockReader::kDefaultDepth;
    uint32_t agents = 1;       ///< as IoJob::agents
    uint32_t streams = 1;      ///< that the reader holds where the system grants so many
    uint64_t arena_bytes = 0;  ///< that the arena had, while another plan is read for
    PreloadBuffer buffer;
  };

  /// `file` and `resident` outlive the loader. UsePlan comes before all else.
  Loader(ContainerFile& file, ResidentModel& resident, const LoaderOptions& options);

  /// Reads for another plan from now on, whose places in the buffer are empty. `most_staging`
  /// bounds the arena, 0: as the plan says. The loader is idle. Returns the places of the plan
  /// before.
  Places UsePlan(const Plan& plan, uint64_t most_staging);
  /// Moves what places before hold of `stays` and of the plan's fallbacks to its own, and gives
  /// back there all but fallbacks.
  void TakeFrom(Places& before, std::span<const ShardAtBits> stays);
  /// Takes UsePlan back: reads for the plan before, whose places are `before`, and to which goes
  /// what is held of `stays`. Reads that are in flight, after an interrupt, land where they were
  /// to, and count for nothing; `rows` has what those of embedding rows land in.
  void GoBack(Places before, std::span<const ShardAtBits> stays, std::shared_ptr<void> rows);

  /// Returns what bounds the arena, as UsePlan has it.
  [[nodiscard]] uint64_t most_staging() const { return places_.most_staging; }

  /// Makes the route's schedule for a job; the loader is idle.
  [[nodiscard]] Status Prepare(Route& route, const LaneJob& job);
  /// Begins to read what Prepare has scheduled for `job`. kWoken, or kRunning.
  void Start(Route& route, const LaneJob& job, LaneState state, RowsCome rows_come);
  /// Reads embedding rows into `blocks`, and waits for them; the loader is idle.
  [[nodiscard]] Status ReadRows(const EmbeddingReads& rows, std::span<uint8_t> blocks);
  /// Returns whether the lane was woken for just this job, and no read that failed has ended it;
  /// then its reads are a run's.
  [[nodiscard]] bool TakeOver(const LaneJob& job);
  /// Leaves the memory that a lane reads embedding rows into, which lives as long as what this
  /// returns.
  using LeaveRowMemory = FunctionRef<std::shared_ptr<void>()>;
  /// Becomes idle without waiting, if the lane reads for a degraded run that has ended or will not
  /// come, and its late reads land nowhere but in their own arena and in what `leave_row_memory`
  /// gives.
  void SetLateLaneAside(LeaveRowMemory leave_row_memory);
  /// Returns whether the lane has no read in flight, so that BecomeIdle would not wait.
  [[nodiscard]] bool IsLaneIdle() { return state_ == LaneState::kIdle || lane_->Idle(); }
  /// Returns whether that holds for the lanes that were set aside too, so that AwaitAllLanes would
  /// not wait.
  [[nodiscard]] bool AllLanesIdle();
  /// Leaves kRunning, once a run has stopped the lane: for kTrailing or kIdle.
  void EndRun(bool ended_well);
  /// Becomes idle, as the file's first comment says. It fails only if it is interrupted.
  [[nodiscard]] Status BecomeIdle();
  /// Begins no more reads, and becomes idle if those in flight come by `latest`. Returns whether
  /// they did.
  [[nodiscard]] bool BecomeIdleBy(Clock::time_point latest);
  /// Keeps only `shards` of those that the last job was to keep: from now on, or once its reads
  /// have come.
  void KeepLess(std::span<const ShardAtBits> shards);
  /// Becomes idle, and waits for lanes that were set aside. It fails only if it is interrupted.
  [[nodiscard]] Status AwaitAllLanes();
  /// Begins no more reads, and waits for all in flight, as destroying it does. It fails only if it
  /// is interrupted.
  [[nodiscard]] Status Finish();

  /// Takes the resident parameters that came with a group of the route, if any did.
  [[nodiscard]] Status TakeResident(const Route& route, uint32_t group);
  /// Makes the arena just so large; nothing is in flight.
  void FitArena(uint64_t bytes);
  /// Gives the arena back, until the next job needs it; nothing is in flight.
  void GiveBackArena();
  /// Returns why some memory is not locked that was to be; no error if all is.
  [[nodiscard]] const Status& lock_refusal() const {
    return lock_refusal_.ok() ? buffer().lock_refusal() : lock_refusal_;
  }

  [[nodiscard]] LaneState state() const { return state_; }
  [[nodiscard]] IoLane& lane() { return *lane_; }
  [[nodiscard]] PreloadBuffer& buffer() { return places_.buffer; }
  [[nodiscard]] const PreloadBuffer& buffer() const { return places_.buffer; }
  [[nodiscard]] const AlignedBuffer& arena() const { return arena_; }
  /// Returns the schedule of the last job. Whoever holds it has it beyond the next.
  [[nodiscard]] const std::shared_ptr<const LoadSchedule>& schedule() const { return schedule_; }

 private:
  /// A lane whose last reads did not come in time, and all that they may still land in.
  struct LateLane {
    std::unique_ptr<BlockReader> reader;
    AlignedBuffer arena;
    std::shared_ptr<void> rows;
    std::unique_ptr<IoLane> lane;  ///< last: waits for them
  };
  [[nodiscard]] std::unique_ptr<IoLane> MakeLane(BlockReader& reader) const;
  /// The state of the arena: new, read into, or registered with the reader too.
  enum class ArenaUse : uint8_t { kNew, kRead, kRegistered };
  [[nodiscard]] bool ReadsFillBuffer() const;
  void HoldStreams(uint32_t wanted);
  void Evict();
  void LetGo();
  void GrowArena(uint64_t bytes);
  void RegisterArena();
  void LockIfWanted(AlignedBuffer& memory);

  ContainerFile& file_;
  ResidentModel& resident_;
  LoaderOptions options_;
  Places places_;
  /// Where reads for a plan that was given up may still land, until the lane is idle.
  struct GivenUp {
    PreloadBuffer buffer;
    std::shared_ptr<void> rows;
  };
  std::optional<GivenUp> given_up_;
  AlignedBuffer arena_;  ///< as large as the largest job has needed
  ArenaUse arena_use_ = ArenaUse::kNew;
  Status lock_refusal_;  ///< of the arena
  LaneState state_ = LaneState::kIdle;
  /// The last job: its route, whether it may degrade, what it evicts and keeps, and its schedule.
  RouteId route_;
  bool degrade_ = false;
  bool evict_ = false;
  std::vector<ShardAtBits> keep_;
  std::shared_ptr<const LoadSchedule> schedule_ = std::make_shared<const LoadSchedule>();
  std::vector<LateLane> late_lanes_;
  std::unique_ptr<IoLane> lane_;  ///< last: stops before what it reads into goes
};

}  // namespace sti
