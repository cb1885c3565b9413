#include "pipeline/lane/io_lane.h"

#include <algorithm>
#include <utility>

#include "pipeline/io_share.h"

namespace sti {
namespace {

constexpr double kForget = 0.9;  // weight of the past in the bandwidth, read by read

}  // namespace

IoLane::IoLane(BlockReader& reader, const ContainerIndex& index, uint32_t depth, IoShare* share)
    : reader_(reader),
      index_(index),
      depth_(std::clamp(depth, 1U, reader.depth())),
      share_(share),
      share_id_(share == nullptr ? 0 : share->Join()),
      thread_([this] { Main(); }) {}

IoLane::~IoLane() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    finishing_ = true;
  }
  to_lane_.notify_all();
  thread_.join();
  if (share_ != nullptr) share_->Leave(share_id_);
}

void IoLane::Start(const IoJob& job) {
  WaitIdle();
  {
    std::lock_guard lock(mutex_);
    job_ = job;
    rows_ = nullptr;
    refused_ = false;
    queue_.Reset(*job.schedule, job.groups);
    read_again_.assign(job.schedule->reads.size(), false);
    arrived_.assign(job.schedule->requests.size(), PartSet());
    error_.reset();
    const auto now = Clock::now();
    report_.bytes = 0;
    report_.busy_us = 0;
    report_.rows_begin = report_.rows_ready = now;
    report_.begin.assign(job.groups, Clock::time_point{});
    report_.ready.assign(job.groups, now);
    report_.reads.assign(job.schedule->reads.size(), {now, now});
    finishing_ = false;
    busy_ = true;
  }
  to_lane_.notify_all();
}

void IoLane::ReadRows(const EmbeddingReads& rows, std::span<uint8_t> blocks) {
  {
    std::lock_guard lock(mutex_);
    rows_ = &rows;
    row_blocks_ = blocks;
    queue_.AddRows(rows.ranges.size());
    read_again_.resize(job_.schedule->reads.size() + rows.ranges.size(), false);
    report_.rows_begin = report_.rows_ready = Clock::now();
    ++events_;
  }
  to_lane_.notify_all();
}

Status IoLane::Wait(const std::function<bool()>& ready) {
  std::unique_lock lock(mutex_);
  from_lane_.wait(lock, [&] { return error_.has_value() || ready(); });
  if (error_) return *error_;
  return {};
}

Status IoLane::WaitForRows() {
  return Wait([this] { return !queue_.rows_missing(); });
}

Status IoLane::WaitForGroup(uint32_t group) {
  return Wait([this, group] { return !queue_.GroupMissing(group); });
}

Status IoLane::WaitForGroupUntil(uint32_t group, Clock::time_point latest, bool need_base) {
  std::unique_lock lock(mutex_);
  from_lane_.wait_until(lock, latest, [&] { return error_ || !queue_.GroupMissing(group); });
  from_lane_.wait(lock, [&] {
    const bool base = !need_base || queue_.BasesArrived(group) > 0;
    return error_ || !queue_.GroupMissing(group) || (base && !queue_.ResidentMissing(group));
  });
  if (error_) return *error_;
  return {};
}

void IoLane::StartBy(std::span<const Clock::time_point> moments) {
  std::lock_guard lock(mutex_);
  queue_.StartBy(moments);
}

std::span<const PartSet> IoLane::TakeArrived(uint32_t group) {
  std::lock_guard lock(mutex_);
  queue_.GroupStarted(group);
  ++events_;
  const auto& requests = job_.schedule->requests;
  const auto [first, last] = std::equal_range(
      requests.begin(), requests.end(), ShardRequest{0, 0, 0, group},
      [](const ShardRequest& a, const ShardRequest& b) { return a.group < b.group; });
  taken_.assign(arrived_.begin() + (first - requests.begin()),
                arrived_.begin() + (last - requests.begin()));
  return taken_;
}

void IoLane::GroupComputed(uint32_t group) {
  {
    std::lock_guard lock(mutex_);
    queue_.GroupComputed(group);
    ++events_;
  }
  to_lane_.notify_all();
}

void IoLane::Stop(IoReport* report) {
  {
    std::lock_guard lock(mutex_);
    finishing_ = true;
    queue_.Abandon();
    if (report != nullptr) *report = report_;
  }
  to_lane_.notify_all();
}

bool IoLane::Idle() {
  std::lock_guard lock(mutex_);
  return !busy_;
}

void IoLane::WaitIdle() {
  std::unique_lock lock(mutex_);
  finishing_ = true;
  to_lane_.notify_all();
  from_lane_.wait(lock, [this] { return !busy_; });
}

bool IoLane::WaitIdleFor(Clock::duration most) {
  std::unique_lock lock(mutex_);
  finishing_ = true;
  to_lane_.notify_all();
  return from_lane_.wait_for(lock, most, [this] { return !busy_; });
}

double IoLane::bytes_per_us() {
  std::lock_guard lock(mutex_);
  return recent_us_ > 0 ? recent_bytes_ / recent_us_ : 0;
}

void IoLane::ExpectBandwidth(double bytes_per_us) {
  constexpr double kExpectedBytes = 1 << 20;  // what an expectation weighs
  std::lock_guard lock(mutex_);
  if (recent_us_ > 0 || bytes_per_us <= 0) return;
  recent_bytes_ = kExpectedBytes;
  recent_us_ = kExpectedBytes / bytes_per_us;
}

void IoLane::Main() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      to_lane_.wait(lock, [this] { return stop_ || busy_; });
      if (stop_) return;
    }
    RunJob();
    {
      std::lock_guard lock(mutex_);
      busy_ = false;
    }
    from_lane_.notify_all();
  }
}

void IoLane::RunJob() {
  // A wait that fails and finishes no read may do so for ever.
  constexpr uint32_t kFruitlessWaits = 1000;
  uint32_t fruitless = 0;
  for (;;) {
    const uint64_t seen = Events();
    while (reader_.in_flight() < depth_ && SubmitNext()) {
    }
    if (const uint32_t before = reader_.in_flight(); before > 0) {
      const Result<uint64_t> tag = reader_.Wait();
      const Status status = tag.ok() ? Complete(*tag) : Status(tag.error());
      if (!status.ok()) Fail(status.error());
      fruitless = tag.ok() || reader_.in_flight() != before ? 0 : fruitless + 1;
      if (fruitless == kFruitlessWaits) return;
      continue;
    }
    if (refused_ && AwaitsShare()) continue;
    std::unique_lock lock(mutex_);
    const bool rows_known = !job_.rows_follow || rows_ != nullptr;
    if (finishing_ || (rows_known && queue_.exhausted())) {
      LeaveShare();
      return;
    }
    // Nothing in flight and nothing that may begin: a computed layer makes room, rows may follow.
    to_lane_.wait(lock, [&] { return finishing_ || events_ != seen; });
  }
}

uint64_t IoLane::Events() {
  std::lock_guard lock(mutex_);
  return events_;
}

// It is another lane's turn. With no read of its own in flight, this one sleeps until the share
// moves on.
bool IoLane::AwaitsShare() {
  refused_ = false;
  {
    std::lock_guard lock(mutex_);
    if (finishing_) return false;
  }
  share_->WaitForTurn();
  return true;
}

// At the end of a job: reads that failed have not been given back one by one.
void IoLane::LeaveShare() {
  if (share_ == nullptr) return;
  share_->GiveUp(share_id_);
  if (granted_bytes_ > 0) share_->Done(std::exchange(granted_bytes_, 0));
}

bool IoLane::SubmitNext() {
  std::optional<QueuedRead> next;
  {
    std::lock_guard lock(mutex_);
    if (finishing_) return false;
    const double rate = recent_us_ > 0 ? recent_bytes_ / recent_us_ : 0;
    const uint64_t left_out = queue_.left_out();
    next = queue_.Next(Clock::now(), rate, rows_ == nullptr ? 0 : NextRowBytes());
    if (queue_.left_out() != left_out) from_lane_.notify_all();  // a group may be complete
    if (next && share_ != nullptr && !share_->TryBegin(share_id_, next->bytes)) {
      queue_.PutBack(*next);
      refused_ = true;
      return false;
    }
  }
  if (!next) return false;
  if (share_ != nullptr) granted_bytes_ += next->bytes;
  const Status submitted = SubmitRead(*next);
  if (!submitted.ok()) Fail(submitted.error());
  return submitted.ok();
}

uint64_t IoLane::NextRowBytes() const {
  const size_t next = queue_.next_row();
  return next < rows_->ranges.size() ? rows_->ranges[next].length : 0;
}

Status IoLane::SubmitRead(const QueuedRead& read) {
  ReadRequest request;
  {
    std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    if (reader_.in_flight() == 0) busy_since_ = now;
    if (read.rows) {
      const EmbeddingReads::Range& range = rows_->ranges[read.index];
      request = {range.offset, row_blocks_.subspan(range.place, range.length),
                 job_.schedule->reads.size() + read.index};
    } else {
      const ScheduledRead& staged = job_.schedule->reads[read.index];
      request = {staged.offset, MemoryOf(staged).subspan(staged.place, staged.length), read.index};
      report_.reads[read.index].begin = now;
      if (report_.begin[read.group] == Clock::time_point{}) report_.begin[read.group] = now;
    }
  }
  return reader_.Submit(request);
}

std::span<uint8_t> IoLane::MemoryOf(const ScheduledRead& read) const {
  return read.landing == Landing::kBuffer ? job_.buffer : job_.arena;
}

Status IoLane::Complete(uint64_t tag) {
  const QueuedRead read = ReadOf(tag);
  Status sound = CheckRead(read);
  if (!sound.ok()) {
    std::unique_lock lock(mutex_);
    if (read_again_[tag]) return sound;
    read_again_[tag] = true;
    report_.bytes += read.bytes;
    lock.unlock();
    return SubmitRead(read);
  }
  if (share_ != nullptr) {
    granted_bytes_ -= read.bytes;
    share_->Done(read.bytes);
  }
  if (!read.rows) CopyKept(job_.schedule->reads[read.index]);
  Arrived(read);
  return {};
}

// Parts that are to stay, but were not read into their places.
void IoLane::CopyKept(const ScheduledRead& read) {
  const auto& parts = job_.schedule->parts;
  for (uint32_t i = read.first_part; i < read.first_part + read.parts; ++i) {
    const ScheduledPart& part = parts[i];
    if (part.copy_place < 0) continue;
    const auto bytes = MemoryOf(read).subspan(part.place, part.part.length);
    std::copy(bytes.begin(), bytes.end(), job_.buffer.begin() + part.copy_place);
  }
}

QueuedRead IoLane::ReadOf(uint64_t tag) const {
  const auto& reads = job_.schedule->reads;
  if (tag >= reads.size()) {
    const size_t range = tag - reads.size();
    return {true, range, rows_->ranges[range].length, 0};
  }
  return {false, tag, reads[tag].length, reads[tag].group};
}

Status IoLane::CheckRead(const QueuedRead& read) const {
  if (read.rows) {
    return CheckEmbeddingRange(index_, *rows_, read.index, row_blocks_, reader_.name());
  }
  const ScheduledRead& staged = job_.schedule->reads[read.index];
  return CheckScheduledRead(*job_.schedule, staged, MemoryOf(staged), reader_.name());
}

void IoLane::Arrived(const QueuedRead& read) {
  std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  const double time_us = MicrosecondsBetween(busy_since_, now);
  busy_since_ = now;
  report_.busy_us += time_us;
  report_.bytes += read.bytes;
  recent_bytes_ = kForget * recent_bytes_ + static_cast<double>(read.bytes);
  recent_us_ = kForget * recent_us_ + time_us;
  queue_.Arrived(read);
  if (read.rows) {
    report_.rows_ready = now;
    if (!queue_.rows_missing()) from_lane_.notify_all();
    return;
  }
  const ScheduledRead& staged = job_.schedule->reads[read.index];
  for (uint32_t i = staged.first_part; i < staged.first_part + staged.parts; ++i) {
    const ScheduledPart& part = job_.schedule->parts[i];
    if (!part.kind) continue;
    PartSet& arrived = arrived_[part.request];
    arrived = arrived.With(*part.kind);
  }
  report_.reads[read.index].end = report_.ready[read.group] = now;
  from_lane_.notify_all();
}

void IoLane::Fail(Error error) {
  {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    finishing_ = true;
    queue_.Abandon();
  }
  from_lane_.notify_all();
}

}  // namespace sti
