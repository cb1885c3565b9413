#include "schedule/read_queue.h"

#include <algorithm>

namespace sti {
namespace {

// Reads that seem to end after their window by this share of it may still end in it. Whether they
// do shows later, while there is something left to leave out.
constexpr double kChance = 0.03;

template <typename Predicate>
uint32_t CountParts(const LoadSchedule& schedule, const ScheduledRead& read, Predicate counts) {
  const auto parts = schedule.PartsOf(read);
  return static_cast<uint32_t>(std::count_if(parts.begin(), parts.end(), counts));
}

bool IsResident(const ScheduledPart& part) { return !part.kind; }

bool IsBase(const ScheduledPart& part) { return part.kind && IsEssential(*part.kind); }

}  // namespace

void ReadQueue::Reset(const LoadSchedule& schedule, uint32_t groups, uint32_t agents) {
  schedule_ = &schedule;
  bases_.resize(std::max(agents, 1U));
  for (Line& line : bases_) line.reads.clear();
  refinements_.reads.clear();
  for (auto* counts : {&residents_missing_, &bases_arrived_, &bases_coming_, &in_flight_})
    counts->assign(groups, 0);
  for (auto* bytes : {&bases_left_, &bytes_missing_, &base_bytes_missing_})
    bytes->assign(groups, 0);
  without_base_.assign(schedule.requests.size(), false);
  for (size_t i = 0; i < schedule.reads.size(); ++i) {
    const ScheduledRead& read = schedule.reads[i];
    (read.refinement ? refinements_ : bases_[AgentOf(read.group)]).reads.push_back(i);
    bytes_missing_[read.group] += read.length;
    if (!read.refinement) {
      bases_left_[read.group] += read.length;
      base_bytes_missing_[read.group] += read.length;
    }
    if (CountParts(schedule, read, IsResident) > 0) ++residents_missing_[read.group];
  }
  for (Line& line : bases_) line.next = 0;
  refinements_.next = 0;
  rows_ = next_row_ = rows_missing_ = 0;
  row_bytes_missing_ = bytes_in_flight_ = 0;
  left_out_ = 0;
  started_ = computed_ = 0;
  start_by_.clear();
  bases_by_.clear();
}

void ReadQueue::AddRows(size_t ranges, uint64_t bytes) {
  rows_ = rows_missing_ = ranges;
  row_bytes_missing_ = bytes;
}

void ReadQueue::StartBy(std::span<const Clock::time_point> moments) {
  start_by_.assign(moments.begin(), moments.end());
  bases_by_ = start_by_;
}

void ReadQueue::ShareOutTime(std::span<const Clock::time_point> latest, Clock::time_point now,
                             double bytes_per_us) {
  StartBy(latest);
  ShareOut(bytes_missing_, row_bytes_missing_, now, bytes_per_us, start_by_);
  ShareOut(base_bytes_missing_, row_bytes_missing_, now, bytes_per_us, bases_by_);
}

// The arena lets reads be only so far ahead, so a group that waited to the last for its own would
// keep those of later groups waiting too.
void ReadQueue::ShareOut(std::span<const uint64_t> bytes_left, uint64_t row_bytes,
                         Clock::time_point now, double bytes_per_us,
                         std::vector<Clock::time_point>& moments) const {
  auto total = static_cast<double>(row_bytes);
  for (size_t group = started_; group < moments.size(); ++group)
    total += static_cast<double>(bytes_left[group]);
  if (total == 0 || moments.size() < 2) return;
  const Clock::time_point end = moments[moments.size() - 2];
  const double window_us = std::max(0.0, MicrosecondsBetween(now, end));
  const double reads_us = bytes_per_us > 0 ? total / bytes_per_us : window_us;
  const double chance_us = kChance * window_us;
  const bool fits = reads_us <= window_us + chance_us;
  const double slack_us = fits ? std::max(chance_us, window_us - reads_us) : 0;
  const double all_us = fits ? reads_us : window_us;
  auto bytes = static_cast<double>(row_bytes);
  for (size_t group = started_; group < moments.size(); ++group) {
    bytes += static_cast<double>(bytes_left[group]);
    const double until_us = slack_us + bytes / total * all_us;
    moments[group] = std::min(moments[group], now + Microseconds(until_us));
  }
}

std::optional<QueuedRead> ReadQueue::Next(Clock::time_point now, double bytes_per_us,
                                          uint64_t row_bytes, uint32_t busy) {
  if (next_row_ < rows_) {
    bytes_in_flight_ += row_bytes;
    return QueuedRead{true, next_row_++, row_bytes, 0};
  }
  SkipStarted();
  if (auto refinement = NextRefinement(now, bytes_per_us)) return refinement;
  Line* const line = NextLine(now, bytes_per_us, busy);
  return line == nullptr ? std::nullopt : std::optional(Begin(line->reads[line->next++]));
}

// Returns the line whose first read may begin and comes first of those.
ReadQueue::Line* ReadQueue::NextLine(Clock::time_point now, double bytes_per_us, uint32_t busy) {
  Line* first = nullptr;
  for (uint32_t agent = 0; agent < bases_.size(); ++agent) {
    if ((busy >> agent & 1) != 0) continue;
    Line& line = bases_[agent];
    while (!line.empty()) {
      const ScheduledRead& read = schedule_->reads[line.front()];
      if (!MayBegin(read)) break;
      if (!IsLate(read, now, bytes_per_us) || !CanDoWithout(read)) {
        if (first == nullptr || line.front() < first->front()) first = &line;
        break;
      }
      LeaveOut(line.reads[line.next++]);
    }
  }
  return first;
}

// Returns whether a read would arrive after its group must have started.
bool ReadQueue::IsLate(const ScheduledRead& read, Clock::time_point now,
                       double bytes_per_us) const {
  if (start_by_.empty() || bytes_per_us <= 0) return false;
  const double there_us = static_cast<double>(bytes_in_flight_ + read.length) / bytes_per_us;
  const auto& moments = read.refinement ? start_by_ : bases_by_;
  return now + Microseconds(there_us) > moments[read.group];
}

// Returns whether the group can be computed without this read: another shard's base comes.
bool ReadQueue::CanDoWithout(const ScheduledRead& base) const {
  return bases_coming_[base.group] > 0 && CountParts(*schedule_, base, IsResident) == 0;
}

// Returns whether no shard of a read will have the base that it refines.
bool ReadQueue::LacksBase(const ScheduledRead& refinement) const {
  return CountParts(*schedule_, refinement, [this](const ScheduledPart& part) {
           return !without_base_[part.request];
         }) == 0;
}

// A refinement is due before the bases of later groups, unless time is short; while those wait for
// a place, it may go in any case.
std::optional<QueuedRead> ReadQueue::NextRefinement(Clock::time_point now, double bytes_per_us) {
  const Line& bases = bases_.front();
  for (; !refinements_.empty(); ++refinements_.next) {
    const size_t index = refinements_.front();
    const ScheduledRead& read = schedule_->reads[index];
    const bool bases_left = !bases.empty();
    if (bases_left && schedule_->reads[bases.front()].group <= read.group) return std::nullopt;
    if (!start_by_.empty() && bytes_per_us > 0) {
      if (IsLate(read, now, bytes_per_us) || LacksBase(read)) {
        LeaveOut(index);
        continue;
      }
      const bool base_may_begin = bases_left && MayBegin(schedule_->reads[bases.front()]);
      if (base_may_begin && MakesBasesLate(read, now, bytes_per_us)) return std::nullopt;
    }
    if (!MayBegin(read)) return std::nullopt;
    ++refinements_.next;
    return Begin(index);
  }
  return std::nullopt;
}

bool ReadQueue::MakesBasesLate(const ScheduledRead& refinement, Clock::time_point now,
                               double bytes_per_us) const {
  uint64_t bytes = bytes_in_flight_ + refinement.length;
  for (size_t group = refinement.group; group < bases_by_.size(); ++group) {
    if (group >= bases_left_.size() || bases_left_[group] == 0) continue;
    bytes += bases_left_[group];
    if (now + Microseconds(static_cast<double>(bytes) / bytes_per_us) > bases_by_[group])
      return true;
  }
  return false;
}

// Nobody waits for what a started group has not got.
void ReadQueue::SkipStarted() {
  const auto skip = [this](Line& line) {
    while (!line.empty() && schedule_->reads[line.front()].group < started_)
      LeaveOut(line.reads[line.next++]);
  };
  for (Line& line : bases_) skip(line);
  skip(refinements_);
}

void ReadQueue::LeaveOut(size_t index) {
  const ScheduledRead& read = schedule_->reads[index];
  ++left_out_;
  NoLongerMissing(read);
  if (read.refinement) return;
  bases_left_[read.group] -= read.length;
  for (const ScheduledPart& part : schedule_->PartsOf(read)) {
    if (IsBase(part)) without_base_[part.request] = true;
  }
}

void ReadQueue::NoLongerMissing(const ScheduledRead& read) {
  bytes_missing_[read.group] -= read.length;
  if (!read.refinement) base_bytes_missing_[read.group] -= read.length;
}

QueuedRead ReadQueue::Begin(size_t index) {
  const ScheduledRead& read = schedule_->reads[index];
  ++in_flight_[read.group];
  bytes_in_flight_ += read.length;
  if (!read.refinement) bases_left_[read.group] -= read.length;
  bases_coming_[read.group] += CountParts(*schedule_, read, IsBase);
  return {false, index, read.length, read.group};
}

void ReadQueue::PutBack(const QueuedRead& read) {
  bytes_in_flight_ -= read.bytes;
  if (read.rows) {
    --next_row_;
    return;
  }
  const ScheduledRead& staged = schedule_->reads[read.index];
  --in_flight_[read.group];
  bases_coming_[read.group] -= CountParts(*schedule_, staged, IsBase);
  if (staged.refinement) {
    --refinements_.next;
  } else {
    --bases_[AgentOf(read.group)].next;
    bases_left_[read.group] += staged.length;
  }
}

void ReadQueue::Arrived(const QueuedRead& read) {
  bytes_in_flight_ -= read.bytes;
  if (read.rows) {
    --rows_missing_;
    row_bytes_missing_ -= read.bytes;
    return;
  }
  const ScheduledRead& staged = schedule_->reads[read.index];
  --in_flight_[read.group];
  NoLongerMissing(staged);
  if (CountParts(*schedule_, staged, IsResident) > 0) --residents_missing_[read.group];
  bases_arrived_[read.group] += CountParts(*schedule_, staged, IsBase);
}

bool ReadQueue::InFlightFailed() {
  const bool any = std::ranges::any_of(in_flight_, [](uint32_t reads) { return reads > 0; });
  std::ranges::fill(in_flight_, 0U);
  bases_coming_ = bases_arrived_;
  bytes_in_flight_ = 0;
  return any;
}

// A group that went on without a read that is still in flight has not given its bytes back.
uint32_t ReadQueue::Freed() const {
  for (uint32_t group = 0; group < computed_; ++group) {
    if (in_flight_[group] > 0) return group;
  }
  return computed_;
}

void ReadQueue::GroupStarted(uint32_t group) {
  started_ = group + 1;
  SkipStarted();
}

void ReadQueue::Abandon() {
  next_row_ = rows_;
  for (Line& line : bases_) line.next = line.reads.size();
  refinements_.next = refinements_.reads.size();
}

bool ReadQueue::exhausted() const {
  return next_row_ == rows_ && refinements_.empty() && std::ranges::all_of(bases_, &Line::empty);
}

}  // namespace sti
