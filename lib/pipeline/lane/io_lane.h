// The IO lane: a thread that keeps reads in flight, in order of need, while the caller computes.
//
// A job is what one input needs: the plan's streamed shards layer by layer, and the embedding rows
// of its tokens, which go first once they are known. A read starts as soon as there is a place in
// flight and its place in the arena is free. Checksums are verified here, beside the computation; a
// read that fails its own is read once more.
//
// A job with moments by which groups must start (StartBy) is read in another order when time is
// short: bases of the next layers go ahead of refinements, and refinements that would come too late
// are left out.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "io/block_reader.h"
#include "model/embedding_rows.h"
#include "schedule/load_schedule.h"
#include "schedule/read_queue.h"

namespace sti {

class IoShare;

struct IoJob {
  std::shared_ptr<const LoadSchedule> schedule;
  std::span<uint8_t> arena;   ///< schedule->arena_bytes
  std::span<uint8_t> buffer;  ///< what reads that land in the buffer have places in
  uint32_t groups = 0;
  bool rows_follow = true;  ///< ReadRows will be called
};

/// When one read was under way.
struct ReadTrace {
  Clock::time_point begin;
  Clock::time_point end;
};

/// What the lane has done for a job.
struct IoReport {
  uint64_t bytes = 0;
  double busy_us = 0;  ///< with reads in flight
  Clock::time_point rows_begin;
  Clock::time_point rows_ready;
  std::vector<Clock::time_point> begin;  ///< [groups] its first read was begun; 0 if none was
  std::vector<Clock::time_point> ready;  ///< [groups] its last wanted byte had arrived
  std::vector<ReadTrace> reads;          ///< [schedule reads]; begin == end where it was not read
};

/// Start, then ReadRows, waits and GroupComputed in order of groups, then Stop: all from one
/// thread. What the job and the rows point to stays in place until WaitIdle returns.
class IoLane {
 public:
  /// Takes over `reader` until destroyed. `share`, where given, is asked before each read, and
  /// outlives the lane.
  IoLane(BlockReader& reader, const ContainerIndex& index, uint32_t depth,
         IoShare* share = nullptr);
  ~IoLane();
  IoLane(const IoLane&) = delete;
  IoLane& operator=(const IoLane&) = delete;

  /// Waits for what is in flight from before.
  void Start(const IoJob& job);
  /// The rows go ahead of all that is not yet in flight. At most once a job.
  void ReadRows(const EmbeddingReads& rows, std::span<uint8_t> blocks);

  /// Block until the rows, or all that a group wants, are in memory and checked.
  [[nodiscard]] Status WaitForRows();
  [[nodiscard]] Status WaitForGroup(uint32_t group);
  /// As WaitForGroup, but gives up at `latest`, with what has arrived; then still waits for
  /// resident parts and, if `need_base`, for one shard's base.
  [[nodiscard]] Status WaitForGroupUntil(uint32_t group, Clock::time_point latest, bool need_base);

  /// Makes the job one whose groups must start by these moments [groups].
  void StartBy(std::span<const Clock::time_point> moments);
  /// Parts in memory of each request of the group. What has not arrived by now is
  /// not used, and not read if it has not been begun. Valid until the next call.
  std::span<const PartSet> TakeArrived(uint32_t group);
  /// The group's bytes may be overwritten.
  void GroupComputed(uint32_t group);

  /// Begins no more reads; does not wait for those in flight. Copies what was done until now.
  void Stop(IoReport* report);
  [[nodiscard]] bool Idle();
  void WaitIdle();
  /// False if reads are still in flight after so long.
  [[nodiscard]] bool WaitIdleFor(Clock::duration most);
  /// After WaitIdle: parts in memory of all requests, as TakeArrived.
  [[nodiscard]] std::span<const PartSet> arrived() const { return arrived_; }

  /// Bytes a microsecond that reads have had lately; 0: not known.
  [[nodiscard]] double bytes_per_us();
  void ExpectBandwidth(double bytes_per_us);

 private:
  void Main();
  void RunJob();
  [[nodiscard]] uint64_t Events();
  [[nodiscard]] bool AwaitsShare();
  void LeaveShare();
  bool SubmitNext();
  [[nodiscard]] uint64_t NextRowBytes() const;
  [[nodiscard]] Status SubmitRead(const QueuedRead& read);
  [[nodiscard]] std::span<uint8_t> MemoryOf(const ScheduledRead& read) const;
  [[nodiscard]] Status Complete(uint64_t tag);
  [[nodiscard]] QueuedRead ReadOf(uint64_t tag) const;
  [[nodiscard]] Status CheckRead(const QueuedRead& read) const;
  void CopyKept(const ScheduledRead& read);
  void Arrived(const QueuedRead& read);
  void Fail(Error error);
  [[nodiscard]] Status Wait(const std::function<bool()>& ready);

  BlockReader& reader_;
  const ContainerIndex& index_;
  const uint32_t depth_;
  IoShare* const share_;
  const uint32_t share_id_;
  bool refused_ = false;        ///< by the share, the last time; the lane's own
  uint64_t granted_bytes_ = 0;  ///< by the share, not given back; the lane's own

  std::mutex mutex_;                   // of all below
  std::condition_variable to_lane_;    // a job, rows, a freed group, stop
  std::condition_variable from_lane_;  // something arrived, failed, or the lane is idle
  bool stop_ = false;
  bool busy_ = false;
  bool finishing_ = false;
  uint64_t events_ = 0;  ///< rows, freed groups: what may let another read begin
  IoJob job_;
  const EmbeddingReads* rows_ = nullptr;
  std::span<uint8_t> row_blocks_;
  ReadQueue queue_;
  std::vector<bool> read_again_;  ///< [schedule reads, then ranges of rows]
  std::vector<PartSet> arrived_;  ///< [requests]
  std::vector<PartSet> taken_;    ///< [requests of one group]
  std::optional<Error> error_;
  IoReport report_;
  Clock::time_point busy_since_;
  double recent_bytes_ = 0;
  double recent_us_ = 0;
  std::thread thread_;
};

}  // namespace sti
