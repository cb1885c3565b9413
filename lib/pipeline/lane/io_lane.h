// The IO lane: a thread that keeps reads in flight, in order of need, while the caller computes.
//
// A job is what one input needs: the plan's streamed shards layer by layer, and the table rows of
// its tokens (embedding rows of words and positions), which go first once they are known. A group
// is what one layer, or the head, waits for. A read starts as soon as there is a place in flight
// and its place in the arena is free. Checksums are verified here, beside the computation; a read
// that fails its own is read once more.
//
// Several agents (schedule/read_queue.h) read several groups side by side, each through a stream of
// its own and with one piece in flight.
//
// A job whose groups must start in time (ShareOutTime) is read in another order when time is
// short: bases of the next layers go ahead of refinements, and what would come too late is left
// out.
//
// Threads. One caller and the lane's own thread, which ranks above it where both are scheduled in
// real time, share what `mutex_` guards. While a job runs, the lane's thread reads and checks by
// its own copy of the job, without the lock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/mutex.h"
#include "base/result.h"
#include "io/block_reader.h"
#include "model/embedding_rows.h"
#include "pipeline/lane/arrivals.h"
#include "pipeline/lane/read_pieces.h"
#include "schedule/load_schedule.h"
#include "schedule/read_queue.h"

namespace sti {

class IoShare;

/// When a lane is told which embedding rows a job reads.
enum class RowsCome : uint8_t {
  kNever,  ///< the job reads none
  kLater,  ///< once the text is there, which is not known yet
  kNext,   ///< at once: the text is known, and nothing else is begun before its rows
};

/// Reads that a lane makes in one go, for one run.
struct IoJob {
  std::shared_ptr<const LoadSchedule> schedule;
  std::span<uint8_t> arena;   ///< schedule->arena_bytes
  std::span<uint8_t> buffer;  ///< what reads that land in the buffer have places in
  uint32_t groups = 0;
  /// Most reads of shards that one agent has in flight; of several each has one. Table rows are as
  /// many as the reader takes.
  uint32_t depth = BlockReader::kDefaultDepth;
  RowsCome rows_come = RowsCome::kLater;  ///< when ReadTableRows will be called
  /// Whether a read that fails leaves the others be: whoever waits for it gets the error when no
  /// other read is under way, and until then hopes in vain.
  bool tolerant = false;
  /// At most kMaxReadStreams; several only where no group must start in time, and reads that fail
  /// end the job.
  uint32_t agents = 1;
};

/// Start, then ReadTableRows, waits and GroupComputed in order of groups, then Stop: all from one
/// thread. What the job and the rows point to stays in place until WaitIdle returns.
class IoLane {
 public:
  /// Takes over `reader` until destroyed. `share`, where given, is asked before each read;
  /// `interrupt`, where given, ends the caller's waits with kCancelled. Both outlive the lane.
  IoLane(BlockReader& reader, const ContainerIndex& index, IoShare* share = nullptr,
         Interrupt* interrupt = nullptr);
  ~IoLane();
  IoLane(const IoLane&) = delete;
  IoLane& operator=(const IoLane&) = delete;

  /// Begins a job; the lane is idle.
  void Start(const IoJob& job) STI_EXCLUDES(mutex_);
  /// Reads table rows into `blocks`, ahead of all that is not yet in flight. At most once a job.
  void ReadTableRows(const EmbeddingReads& rows, std::span<uint8_t> blocks) STI_EXCLUDES(mutex_);

  /// Waits until the table rows are in memory and checked, or until `latest`, if that is given.
  /// Returns whether they are there.
  [[nodiscard]] Result<bool> WaitForTableRows(
      std::optional<Clock::time_point> latest = std::nullopt) STI_EXCLUDES(mutex_);
  /// Copies which ranges of table rows are in memory and checked.
  void CopyArrivedRows(std::vector<bool>* ranges) STI_EXCLUDES(mutex_);
  /// Waits until all that a group wants is in memory and checked; or, if `latest` is given, until
  /// then, and goes on with what has arrived, or with nothing.
  [[nodiscard]] Status WaitForGroup(uint32_t group,
                                    std::optional<Clock::time_point> latest = std::nullopt)
      STI_EXCLUDES(mutex_);
  /// Waits for a group until it must start (ShareOutTime), then goes on with what has arrived; but
  /// waits for resident parts and, if `need_base`, for one shard's base however long they take, or
  /// until `latest`, if that is given, and for nothing longer. Returns whether these are there.
  [[nodiscard]] Result<bool> WaitInTime(uint32_t group, bool need_base,
                                        std::optional<Clock::time_point> latest = std::nullopt)
      STI_EXCLUDES(mutex_);
  /// Returns whether the group's resident parts and, if `need_base`, one shard's base are there.
  [[nodiscard]] bool CanStart(uint32_t group, bool need_base) STI_EXCLUDES(mutex_);

  /// Makes the job one whose groups must start by these moments [groups]. `planned_rate` is the
  /// bytes a microsecond that its plan counts on; `row_bytes` are those of table rows that follow.
  /// Called again, it shares out anew what time is left.
  void ShareOutTime(std::span<const Clock::time_point> latest, double planned_rate,
                    uint64_t row_bytes) STI_EXCLUDES(mutex_);
  /// Returns the parts in memory of each request of the group. What has not arrived by now is not
  /// used, and not read if it has not been begun. Valid until the next call.
  std::span<const PartSet> TakeArrived(uint32_t group) STI_EXCLUDES(mutex_);
  /// Lets the group's bytes be overwritten.
  void GroupComputed(uint32_t group) STI_EXCLUDES(mutex_);

  /// Begins no more reads; does not wait for those in flight. Copies what was done until now.
  void Stop(IoReport* report) STI_EXCLUDES(mutex_);
  /// Returns whether a read has failed and ended the job. A tolerant one goes on.
  [[nodiscard]] bool HasFailed() STI_EXCLUDES(mutex_);
  /// Returns whether the lane has no job.
  [[nodiscard]] bool Idle() STI_EXCLUDES(mutex_);
  /// Begins no more reads, and waits for those in flight. It fails only if it is interrupted.
  [[nodiscard]] Status WaitIdle() STI_EXCLUDES(mutex_);
  /// Begins no more reads; returns false if some are still in flight after so long.
  [[nodiscard]] bool WaitIdleFor(Clock::duration most) STI_EXCLUDES(mutex_);
  /// Returns the parts in memory of all requests of the job, after WaitIdle. Valid until Start.
  [[nodiscard]] std::span<const PartSet> arrived() STI_EXCLUDES(mutex_);

  /// Returns the bytes a microsecond that reads have had lately; 0: not known.
  [[nodiscard]] double bytes_per_us() STI_EXCLUDES(mutex_);
  /// Says what reads will have, where nothing is known yet.
  void ExpectBandwidth(double bytes_per_us) STI_EXCLUDES(mutex_);

 private:
  /// Table rows to be read, and where they land.
  struct TableRows {
    const EmbeddingReads* reads = nullptr;
    std::span<uint8_t> blocks;
  };

  enum class Step : uint8_t { kMoved, kFailed, kDone };

  void NoteEvent() STI_REQUIRES(mutex_);
  void Main();
  void RunJob();
  void CountPieces(std::span<const ScheduledPart> parts);
  [[nodiscard]] Step TakeStep();
  [[nodiscard]] bool DropFailed() STI_EXCLUDES(mutex_);
  void TakeJob() STI_EXCLUDES(mutex_);
  [[nodiscard]] uint64_t Events() STI_EXCLUDES(mutex_);
  [[nodiscard]] bool AwaitsShare() STI_EXCLUDES(mutex_);
  void LeaveShare();
  [[nodiscard]] bool AwaitsEvent(uint64_t seen) STI_EXCLUDES(mutex_);
  bool SubmitNext() STI_EXCLUDES(mutex_);
  [[nodiscard]] bool HasPlace() STI_EXCLUDES(mutex_);
  [[nodiscard]] bool RowsWait() STI_EXCLUDES(mutex_);
  [[nodiscard]] std::optional<QueuedRead> TakeNext() STI_EXCLUDES(mutex_);
  [[nodiscard]] uint64_t NextTableRowBytes() const STI_REQUIRES(mutex_);
  [[nodiscard]] Status SubmitRead(const QueuedRead& read) STI_EXCLUDES(mutex_);
  [[nodiscard]] std::span<uint8_t> MemoryOf(Landing landing) const;
  [[nodiscard]] Status Complete(uint64_t tag) STI_EXCLUDES(mutex_);
  [[nodiscard]] bool MayReadAgain(const QueuedRead& read) STI_EXCLUDES(mutex_);
  [[nodiscard]] QueuedRead ReadOf(uint64_t tag) const;
  [[nodiscard]] Status CheckRead(const QueuedRead& read) const;
  void FindCompleted(const QueuedRead& read);
  void CopyKept();
  void Arrived(const QueuedRead& read) STI_EXCLUDES(mutex_);
  void Fail(Error error) STI_EXCLUDES(mutex_);
  [[nodiscard]] bool LacksStart(uint32_t group, bool need_base) const STI_REQUIRES(mutex_);
  [[nodiscard]] bool WaitUntil(std::optional<Clock::time_point> latest) STI_REQUIRES(mutex_);
  [[nodiscard]] bool NothingComes() const STI_REQUIRES(mutex_);
  [[nodiscard]] bool Over(const InterruptibleWait& wait) const STI_REQUIRES(mutex_);
  [[nodiscard]] Status Outcome(const InterruptibleWait& wait, bool missing) const
      STI_REQUIRES(mutex_);

  BlockReader& reader_;
  const ContainerIndex& index_;
  IoShare* const share_;
  Interrupt* const interrupt_;
  const uint32_t share_id_;
  std::optional<Error> no_thread_;  ///< the system gave the lane no thread: each job fails with it
  std::vector<PartSet> taken_;      ///< [requests of one group] the caller's own

  // The lane's thread's own.
  IoJob running_;
  TableRows running_rows_;
  std::vector<uint32_t> pieces_missing_;         ///< [schedule parts]
  std::vector<const ScheduledPart*> completed_;  ///< by the read at hand
  ReadPieces under_way_;
  bool refused_ = false;        ///< by the share, the last time
  uint64_t granted_bytes_ = 0;  ///< by the share, not given back

  Mutex mutex_;
  CondVar to_lane_;    // a job, table rows, a freed group, stop
  CondVar from_lane_;  // something arrived, failed, or the lane is idle
  bool stop_ STI_GUARDED_BY(mutex_) = false;
  bool busy_ STI_GUARDED_BY(mutex_) = false;
  bool finishing_ STI_GUARDED_BY(mutex_) = false;
  /// Counts table rows and freed groups: what may let another read begin.
  uint64_t events_ STI_GUARDED_BY(mutex_) = 0;
  IoJob job_ STI_GUARDED_BY(mutex_);
  TableRows rows_ STI_GUARDED_BY(mutex_);
  ReadQueue queue_ STI_GUARDED_BY(mutex_);
  Arrivals arrivals_ STI_GUARDED_BY(mutex_);
  std::optional<Error> error_ STI_GUARDED_BY(mutex_);
  std::optional<Error> failed_read_ STI_GUARDED_BY(mutex_);  ///< of a tolerant job, the first
  /// Whether no read is in flight, and none may begin until the caller does something.
  bool stuck_ STI_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sti
