#include "pipeline/lane/arrivals.h"

#include <algorithm>
#include <cmath>

namespace sti {
namespace {

// The rate is that of about the last so many bytes, not reads: a row of a table is a small one, and
// takes long for its bytes.
constexpr double kRecentBytes = 320 << 10;

}  // namespace

void RecentRate::Add(uint64_t bytes, double time_us) {
  const double kept = std::exp(-static_cast<double>(bytes) / kRecentBytes);
  bytes_ = kept * bytes_ + static_cast<double>(bytes);
  time_us_ = kept * time_us_ + time_us;
}

void RecentRate::Expect(double bytes_per_us) {
  constexpr double kExpectedBytes = 1 << 20;  // the weight of an expectation
  if (time_us_ > 0 || bytes_per_us <= 0) return;
  bytes_ = kExpectedBytes;
  time_us_ = kExpectedBytes / bytes_per_us;
}

// The rate of the last few reads says little about all that are to come: a fifth below the planned
// one may be chance. If it is not, later layers have less, as time is shared out again.
double RecentRate::Expected(double planned_rate) const {
  constexpr double kChance = 0.2;
  const double rate = bytes_per_us();
  return rate > (1 - kChance) * planned_rate ? std::max(rate, planned_rate) : rate;
}

void Arrivals::Reset(const LoadSchedule& schedule, uint32_t groups) {
  schedule_ = &schedule;
  parts_.assign(schedule.requests.size(), PartSet());
  read_again_.assign(schedule.reads.size(), false);
  rows_.clear();
  rows_again_.clear();
  const auto now = Clock::now();
  report_.bytes = 0;
  report_.busy_us = 0;
  report_.table_rows_begin = report_.table_rows_ready = now;
  report_.begin.assign(groups, Clock::time_point{});
  report_.ready.assign(groups, now);
  report_.reads.assign(schedule.reads.size(), {now, now});
}

void Arrivals::AddRows(size_t ranges) {
  rows_.assign(ranges, false);
  rows_again_.assign(ranges, false);
  report_.table_rows_begin = report_.table_rows_ready = Clock::now();
}

void Arrivals::Begun(const QueuedRead& read, bool first) {
  const auto now = Clock::now();
  if (first) busy_since_ = now;
  if (read.rows) return;
  report_.reads[read.index].begin = now;
  if (report_.begin[read.group] == Clock::time_point{}) report_.begin[read.group] = now;
}

void Arrivals::Arrived(const QueuedRead& read, std::span<const ScheduledPart* const> completed) {
  const auto now = Clock::now();
  const double time_us = MicrosecondsBetween(busy_since_, now);
  busy_since_ = now;
  report_.busy_us += time_us;
  report_.bytes += read.bytes;
  rate_.Add(read.bytes, time_us);
  if (read.rows) {
    rows_[read.index] = true;
    report_.table_rows_ready = now;
    return;
  }
  for (const ScheduledPart* part : completed) {
    if (part->kind) parts_[part->request] = parts_[part->request].With(*part->kind);
  }
  report_.reads[read.index].end = report_.ready[read.group] = now;
}

bool Arrivals::MayReadAgain(const QueuedRead& read) {
  std::vector<bool>& again = read.rows ? rows_again_ : read_again_;
  if (again[read.index]) return false;
  again[read.index] = true;
  report_.bytes += read.bytes;
  return true;
}

std::span<const PartSet> Arrivals::PartsOf(uint32_t group) const {
  const std::vector<ShardRequest>& requests = schedule_->requests;
  const auto [first, last] = std::equal_range(
      requests.begin(), requests.end(), ShardRequest{{}, 0, group},
      [](const ShardRequest& a, const ShardRequest& b) { return a.group < b.group; });
  return {parts_.data() + (first - requests.begin()), static_cast<size_t>(last - first)};
}

}  // namespace sti
