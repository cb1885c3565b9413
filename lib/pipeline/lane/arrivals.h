// The account that an IO lane keeps while it reads: which reads of a job have come, and when.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "schedule/load_schedule.h"
#include "schedule/read_queue.h"
#include "shard/parts.h"

namespace sti {

/// When one read was under way.
struct ReadTrace {
  Clock::time_point begin;
  Clock::time_point end;
};

/// An account of what the lane has done for a job.
struct IoReport {
  uint64_t bytes = 0;
  double busy_us = 0;  ///< with reads in flight
  Clock::time_point table_rows_begin;
  Clock::time_point table_rows_ready;
  std::vector<Clock::time_point> begin;  ///< [groups] its first read was begun; 0 if none was
  std::vector<Clock::time_point> ready;  ///< [groups] its last wanted byte had arrived
  std::vector<ReadTrace> reads;          ///< [schedule reads]; begin == end where it was not read
};

/// The bytes a microsecond that reads have had lately, through one job and the next.
class RecentRate {
 public:
  /// Notes a read of so many bytes that took so long.
  void Add(uint64_t bytes, double time_us);
  /// Says what reads will have, where nothing is known yet.
  void Expect(double bytes_per_us);
  /// Returns 0 where it is not known.
  [[nodiscard]] double bytes_per_us() const { return time_us_ > 0 ? bytes_ / time_us_ : 0; }
  /// Returns what to count on for more reads than the last few, where a plan counts on
  /// `planned_rate`.
  [[nodiscard]] double Expected(double planned_rate) const;

 private:
  double bytes_ = 0;
  double time_us_ = 0;
};

/// Not thread-safe. Reuses its memory from job to job.
class Arrivals {
 public:
  /// Begins the account of another job; the schedule outlives it.
  void Reset(const LoadSchedule& schedule, uint32_t groups);
  /// Says how many ranges of table rows it reads, whose time begins.
  void AddRows(size_t ranges);

  /// Notes that a read begins; `first`: nothing else is in flight.
  void Begun(const QueuedRead& read, bool first);
  /// Notes that a read has come whole, and that the parts completed by it are sound.
  void Arrived(const QueuedRead& read, std::span<const ScheduledPart* const> completed);
  /// Returns whether a read, which was not sound, may be made once more; it may once.
  [[nodiscard]] bool MayReadAgain(const QueuedRead& read);

  [[nodiscard]] const IoReport& report() const { return report_; }
  /// Returns the parts that have arrived of each request of the job.
  [[nodiscard]] const std::vector<PartSet>& parts() const { return parts_; }
  /// Returns those of the requests of one group.
  [[nodiscard]] std::span<const PartSet> PartsOf(uint32_t group) const;
  /// Returns which ranges of table rows have arrived.
  [[nodiscard]] const std::vector<bool>& rows() const { return rows_; }
  [[nodiscard]] RecentRate& rate() { return rate_; }
  [[nodiscard]] const RecentRate& rate() const { return rate_; }

 private:
  const LoadSchedule* schedule_ = nullptr;
  IoReport report_;
  std::vector<PartSet> parts_;    ///< [requests]
  std::vector<bool> rows_;        ///< [ranges of table rows]
  std::vector<bool> read_again_;  ///< [schedule reads]
  std::vector<bool> rows_again_;  ///< [ranges of table rows]
  RecentRate rate_;
  Clock::time_point busy_since_;
};

}  // namespace sti
