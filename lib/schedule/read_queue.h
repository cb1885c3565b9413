// The order of an IO lane's reads, without the lane's thread: it is pure, and tested so. A job has
// a schedule of reads and, once they are known, ranges of embedding rows. A base is a read without
// which a group cannot be computed; the others are refinements.
//
// Rows come first, then group after group, or as several agents read them: agent i of m reads the
// groups i, i + m, and so on, one after the other (Hermes, III). An order by groups is that of one
// agent. Without moments to start by, that is all. With them, which take one agent, the
// time that is left is shared out among the groups, and each read is weighed: a refinement that
// would make the base of a later group late waits behind it; what would come too late itself is
// left out, but for resident parts and one base a group.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "schedule/load_schedule.h"

namespace sti {

/// A read of the queue: an embedding range, or a read of the schedule.
struct QueuedRead {
  bool rows = false;
  size_t index = 0;
  uint64_t bytes = 0;
  uint32_t group = 0;
};

/// Not thread-safe. Reuses its memory from job to job.
class ReadQueue {
 public:
  /// Begins another job, whose schedule outlives it. Of several agents, at most kMaxReadStreams,
  /// none leaves reads out: its schedule has no refinements.
  void Reset(const LoadSchedule& schedule, uint32_t groups, uint32_t agents = 1);
  /// Sets how many ranges of embedding rows this job reads, and their bytes. They go ahead of every
  /// read that has not begun. Call it at most once after Reset.
  void AddRows(size_t ranges, uint64_t bytes);
  /// Says what the rows will be in bytes, until AddRows.
  void ExpectRows(uint64_t bytes) { row_bytes_missing_ = bytes; }
  /// Sets the moments by which groups must start [groups], whatever they lack.
  void StartBy(std::span<const Clock::time_point> moments);
  /// Sets two such moments a group: up to the first all that it wants is worth waiting for, from
  /// there to the second only bases are. `latest` [groups], the head's last, lets each group be
  /// computed in time; `bytes_per_us` is what reads will have. The time until the last layer must
  /// start is shared out among groups that have not started: where all reads fit in, what they
  /// leave is any group's; where not, each has its share, by its bytes. So it is for bases alone.
  void ShareOutTime(std::span<const Clock::time_point> latest, Clock::time_point now,
                    double bytes_per_us);
  /// Returns the moment up to which a group waits for all that it wants, and for bases.
  [[nodiscard]] Clock::time_point StartOf(uint32_t group) const { return start_by_[group]; }
  [[nodiscard]] Clock::time_point BasesBy(uint32_t group) const { return bases_by_[group]; }

  /// Returns the read to begin now, if any may: of several agents the one whose group comes first.
  /// `row_bytes` are those of the next range of rows. `bytes_per_us` is what reads get now, 0 if
  /// that is not known. `busy` has the bit i of each agent i that begins none.
  std::optional<QueuedRead> Next(Clock::time_point now, double bytes_per_us, uint64_t row_bytes,
                                 uint32_t busy = 0);
  /// Undoes the last Next, whose read was not begun after all.
  void PutBack(const QueuedRead& read);
  /// Notes that a read has arrived, checked.
  void Arrived(const QueuedRead& read);
  /// Notes that of the reads which were begun and have not arrived none will: they stay missing,
  /// and others may take their places. Returns whether there are any.
  bool InFlightFailed();

  /// Leaves out what a group and those before it have not begun to read.
  void GroupStarted(uint32_t group);
  /// Lets reads take the place of the group's bytes.
  void GroupComputed(uint32_t group) { computed_ = group + 1; }
  /// Begins nothing more.
  void Abandon();

  [[nodiscard]] bool rows_missing() const { return rows_missing_ > 0; }
  [[nodiscard]] size_t next_row() const { return next_row_; }
  /// Returns the agent that reads a group.
  [[nodiscard]] uint32_t AgentOf(uint32_t group) const {
    return group % static_cast<uint32_t>(bases_.size());
  }
  /// Returns whether ranges of rows have not begun.
  [[nodiscard]] bool rows_waiting() const { return next_row_ < rows_; }
  /// Returns whether reads of the group are still to come; those left out are not.
  [[nodiscard]] bool GroupMissing(uint32_t group) const { return bytes_missing_[group] > 0; }
  [[nodiscard]] bool ResidentMissing(uint32_t group) const { return residents_missing_[group] > 0; }
  /// Returns whether bases of the group are still to come.
  [[nodiscard]] bool BasesMissing(uint32_t group) const { return base_bytes_missing_[group] > 0; }
  /// Returns how many shards of the group have their base.
  [[nodiscard]] uint32_t BasesArrived(uint32_t group) const { return bases_arrived_[group]; }
  /// Returns how many reads were left out so far.
  [[nodiscard]] uint64_t left_out() const { return left_out_; }
  /// Returns whether every read has been begun or left out.
  [[nodiscard]] bool exhausted() const;

 private:
  /// Reads in their order, and how many of them have been begun or left out.
  struct Line {
    std::vector<size_t> reads;
    size_t next = 0;
    [[nodiscard]] bool empty() const { return next == reads.size(); }
    [[nodiscard]] size_t front() const { return reads[next]; }
  };
  [[nodiscard]] Line* NextLine(Clock::time_point now, double bytes_per_us, uint32_t busy);
  [[nodiscard]] std::optional<QueuedRead> NextRefinement(Clock::time_point now,
                                                         double bytes_per_us);
  [[nodiscard]] bool MayBegin(const ScheduledRead& read) const { return read.after <= Freed(); }
  [[nodiscard]] uint32_t Freed() const;
  void ShareOut(std::span<const uint64_t> bytes_left, uint64_t row_bytes, Clock::time_point now,
                double bytes_per_us, std::vector<Clock::time_point>& moments) const;
  [[nodiscard]] bool IsLate(const ScheduledRead& read, Clock::time_point now,
                            double bytes_per_us) const;
  [[nodiscard]] bool CanDoWithout(const ScheduledRead& base) const;
  [[nodiscard]] bool LacksBase(const ScheduledRead& refinement) const;
  [[nodiscard]] bool MakesBasesLate(const ScheduledRead& refinement, Clock::time_point now,
                                    double bytes_per_us) const;
  void SkipStarted();
  void LeaveOut(size_t index);
  void NoLongerMissing(const ScheduledRead& read);
  QueuedRead Begin(size_t index);

  const LoadSchedule* schedule_ = nullptr;
  std::vector<Line> bases_ = std::vector<Line>(1);  ///< [agents] reads that are not refinements
  Line refinements_;                                ///< the others
  size_t rows_ = 0;
  size_t next_row_ = 0;
  size_t rows_missing_ = 0;
  std::vector<uint32_t> residents_missing_;   ///< [groups] reads with resident parts
  std::vector<uint32_t> bases_arrived_;       ///< [groups] shards
  std::vector<uint32_t> in_flight_;           ///< [groups]
  std::vector<uint64_t> bases_left_;          ///< [groups] bytes not begun
  std::vector<uint64_t> bytes_missing_;       ///< [groups] neither arrived nor left out
  std::vector<uint64_t> base_bytes_missing_;  ///< [groups] of them those of bases
  std::vector<uint32_t> bases_coming_;        ///< [groups] shards whose base has begun or arrived
  std::vector<bool> without_base_;            ///< [requests] the base was left out
  uint64_t row_bytes_missing_ = 0;
  uint64_t bytes_in_flight_ = 0;
  uint64_t left_out_ = 0;
  uint32_t started_ = 0;                     ///< groups
  uint32_t computed_ = 0;                    ///< groups
  std::vector<Clock::time_point> start_by_;  ///< [groups], or empty
  std::vector<Clock::time_point> bases_by_;  ///< [groups], or empty
};

}  // namespace sti
