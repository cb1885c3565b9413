#include "pipeline/lane/io_lane.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "base/remedy.h"
#include "base/thread.h"
#include "pipeline/io_share.h"

namespace sti {
IoLane::IoLane(BlockReader& reader, const ContainerIndex& index, IoShare* share,
               Interrupt* interrupt)
    : reader_(reader),
      index_(index),
      share_(share),
      interrupt_(interrupt),
      share_id_(share == nullptr ? 0 : share->Join()) {
  try {
    thread_ = StartQuietThread([this] { Main(); });
  } catch (const std::system_error& refused) {
    no_thread_ = MachineError("cannot start a thread to read (" + refused.code().message() + ")")
                     .Fix(Remedy::kMoreThreads);
  }
}

IoLane::~IoLane() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    finishing_ = true;
  }
  to_lane_.NotifyAll();
  if (thread_.joinable()) thread_.join();
  if (share_ != nullptr) share_->Leave(share_id_);
}

void IoLane::Start(const IoJob& job) {
  {
    MutexLock lock(mutex_);
    job_ = job;
    job_.depth = std::clamp(std::max(job.depth, job.agents), 1U, reader_.depth());
    rows_ = {};
    queue_.Reset(*job.schedule, job.groups, job.agents);
    arrivals_.Reset(*job.schedule, job.groups);
    CountPieces(job.schedule->parts);
    under_way_.Reset(job.schedule->piece_bytes, job.agents, reader_.streams());
    error_ = no_thread_;
    failed_read_.reset();
    stuck_ = false;
    finishing_ = false;
    busy_ = !no_thread_.has_value();
  }
  to_lane_.NotifyAll();
}

// The lane's thread, which is idle, will need no memory of its own.
void IoLane::CountPieces(std::span<const ScheduledPart> parts) {
  completed_.reserve(parts.size());
  pieces_missing_.resize(parts.size());
  std::transform(parts.begin(), parts.end(), pieces_missing_.begin(),
                 [](const ScheduledPart& part) { return part.reads; });
}

void IoLane::ReadTableRows(const EmbeddingReads& rows, std::span<uint8_t> blocks) {
  {
    MutexLock lock(mutex_);
    arrivals_.AddRows(rows.ranges.size());  // where memory runs out, there are no rows to read yet
    rows_ = {&rows, blocks};
    queue_.AddRows(rows.ranges.size(), rows.bytes);
    NoteEvent();
  }
  to_lane_.NotifyAll();
}

void IoLane::ShareOutTime(std::span<const Clock::time_point> latest, double planned_rate,
                          uint64_t row_bytes) {
  MutexLock lock(mutex_);
  if (rows_.reads == nullptr && job_.rows_come != RowsCome::kNever) queue_.ExpectRows(row_bytes);
  queue_.ShareOutTime(latest, Clock::now(), arrivals_.rate().Expected(planned_rate));
}

std::span<const PartSet> IoLane::TakeArrived(uint32_t group) {
  MutexLock lock(mutex_);
  queue_.GroupStarted(group);
  NoteEvent();
  const std::span<const PartSet> arrived = arrivals_.PartsOf(group);
  taken_.assign(arrived.begin(), arrived.end());
  return taken_;
}

void IoLane::NoteEvent() {
  ++events_;
  stuck_ = false;
}

void IoLane::GroupComputed(uint32_t group) {
  {
    MutexLock lock(mutex_);
    queue_.GroupComputed(group);
    NoteEvent();
  }
  to_lane_.NotifyAll();
}

void IoLane::Stop(IoReport* report) {
  {
    MutexLock lock(mutex_);
    finishing_ = true;
    queue_.Abandon();
    if (report != nullptr) *report = arrivals_.report();
  }
  to_lane_.NotifyAll();
}

bool IoLane::HasFailed() {
  MutexLock lock(mutex_);
  return error_.has_value();
}

bool IoLane::Idle() {
  MutexLock lock(mutex_);
  return !busy_;
}

Status IoLane::WaitIdle() {
  const InterruptibleWait wait(interrupt_, mutex_, from_lane_);
  MutexLock lock(mutex_);
  finishing_ = true;
  to_lane_.NotifyAll();
  while (busy_ && !wait.raised()) from_lane_.Wait(mutex_);
  if (busy_) return CancelledError();
  return {};
}

bool IoLane::WaitIdleFor(Clock::duration most) {
  MutexLock lock(mutex_);
  finishing_ = true;
  to_lane_.NotifyAll();
  const Clock::time_point latest = Clock::now() + most;
  while (busy_ && from_lane_.WaitUntil(mutex_, latest)) {
  }
  return !busy_;
}

std::span<const PartSet> IoLane::arrived() {
  MutexLock lock(mutex_);
  return arrivals_.parts();
}

double IoLane::bytes_per_us() {
  MutexLock lock(mutex_);
  return arrivals_.rate().bytes_per_us();
}

void IoLane::ExpectBandwidth(double bytes_per_us) {
  MutexLock lock(mutex_);
  arrivals_.rate().Expect(bytes_per_us);
}

void IoLane::Main() {
  const UsualFloats floats;
  RankAboveMaker();
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (!stop_ && !busy_) to_lane_.Wait(mutex_);
      if (stop_) return;
    }
    RunJob();
    {
      MutexLock lock(mutex_);
      busy_ = false;
    }
    from_lane_.NotifyAll();
  }
}

void IoLane::RunJob() {
  // A wait that fails and finishes no read may do so for ever.
  constexpr uint32_t kFruitlessWaits = 1000;
  TakeJob();
  Step step = Step::kMoved;
  for (uint32_t fruitless = 0; step != Step::kDone && fruitless < kFruitlessWaits;) {
    const uint32_t before = reader_.in_flight();
    try {
      step = TakeStep();
    } catch (const std::bad_alloc&) {
      Fail(NoMemoryError());
      step = Step::kFailed;
    }
    const bool moved = step == Step::kMoved || reader_.in_flight() != before;
    fruitless = moved ? 0 : fruitless + 1;
  }
  LeaveShare();
}

// Begins what reads may begin, then waits: for one of them, or where there are none for what lets
// another begin.
IoLane::Step IoLane::TakeStep() {
  const uint64_t seen = Events();
  while (SubmitNext()) {
  }
  if (reader_.in_flight() > 0) {
    const Result<uint64_t> tag = reader_.Wait();
    const Status status = tag.ok() ? Complete(*tag) : Status(tag.error());
    if (!status.ok()) Fail(status.error());
    return tag.ok() ? Step::kMoved : Step::kFailed;
  }
  if (DropFailed()) return Step::kMoved;
  if (refused_ && AwaitsShare()) return Step::kMoved;
  return AwaitsEvent(seen) ? Step::kMoved : Step::kDone;
}

// Nothing is in flight, so what has been begun and has not arrived has failed. Reads may land in
// its place.
bool IoLane::DropFailed() {
  if (under_way_.HasRest()) return false;
  under_way_.Drop();
  if (share_ != nullptr && granted_bytes_ > 0) share_->Done(std::exchange(granted_bytes_, 0));
  MutexLock lock(mutex_);
  return queue_.InFlightFailed();
}

void IoLane::TakeJob() {
  refused_ = false;
  running_rows_ = {};
  MutexLock lock(mutex_);
  running_ = job_;
}

uint64_t IoLane::Events() {
  MutexLock lock(mutex_);
  return events_;
}

// At the end of a job: reads that failed have not been given back one by one.
void IoLane::LeaveShare() {
  if (share_ == nullptr) return;
  share_->Withdraw(share_id_);
  if (granted_bytes_ > 0) share_->Done(std::exchange(granted_bytes_, 0));
}

// A read that was begun goes on before another begins, but rows go ahead of both. The rest of it is
// left where nobody waits any more.
bool IoLane::SubmitNext() {
  if (!HasPlace()) return false;
  std::optional<QueuedRead> next;
  if (RowsWait() || !under_way_.HasNext()) next = TakeNext();
  Status submitted;
  if (next) {
    if (share_ != nullptr) granted_bytes_ += next->bytes;
    submitted = SubmitRead(*next);
  } else if (const std::optional<ReadRequest> piece = under_way_.Next()) {
    submitted = reader_.Submit(*piece);
  } else {
    return false;
  }
  if (!submitted.ok()) Fail(submitted.error());
  return submitted.ok();
}

// Returns whether another read may be in flight. Rows are small: however many are in flight, later
// reads wait little longer. Beside another reader of the device, which has a large read there most
// of the time, each turn brings all that are.
bool IoLane::HasPlace() {
  MutexLock lock(mutex_);
  const uint32_t most = queue_.rows_waiting() ? reader_.depth() : job_.depth;
  return !finishing_ && reader_.in_flight() < most;
}

bool IoLane::RowsWait() {
  MutexLock lock(mutex_);
  return queue_.rows_waiting();
}

std::optional<QueuedRead> IoLane::TakeNext() {
  MutexLock lock(mutex_);
  if (finishing_) return std::nullopt;
  if (job_.rows_come == RowsCome::kNext && rows_.reads == nullptr) return std::nullopt;
  const uint64_t left_out = queue_.left_out();
  const auto next = queue_.Next(Clock::now(), arrivals_.rate().bytes_per_us(), NextTableRowBytes(),
                                under_way_.busy());
  if (queue_.left_out() != left_out) from_lane_.NotifyAll();  // a group may be complete
  if (next && share_ != nullptr && !share_->TryBegin(share_id_, next->bytes)) {
    queue_.PutBack(*next);
    refused_ = true;
    return std::nullopt;
  }
  return next;
}

uint64_t IoLane::NextTableRowBytes() const {
  const size_t next = queue_.next_row();
  const bool any = rows_.reads != nullptr && next < rows_.reads->ranges.size();
  return any ? rows_.reads->ranges[next].length : 0;
}

Status IoLane::SubmitRead(const QueuedRead& read) {
  ReadRequest request;
  std::optional<uint32_t> agent;
  {
    MutexLock lock(mutex_);
    arrivals_.Begun(read, reader_.in_flight() == 0);
    if (read.rows) {
      running_rows_ = rows_;
      const EmbeddingReads::Range& range = rows_.reads->ranges[read.index];
      request = {range.offset, rows_.blocks.subspan(range.place, range.length),
                 running_.schedule->reads.size() + read.index};
    } else {
      const ScheduledRead& scheduled = running_.schedule->reads[read.index];
      request = {scheduled.offset,
                 MemoryOf(scheduled.landing).subspan(scheduled.place, scheduled.length),
                 read.index};
      agent = queue_.AgentOf(read.group);
    }
  }
  return reader_.Submit(under_way_.Begin(request, agent));
}

std::span<uint8_t> IoLane::MemoryOf(Landing landing) const {
  return landing == Landing::kBuffer ? running_.buffer : running_.arena;
}

Status IoLane::Complete(uint64_t tag) {
  if (!under_way_.Ended(tag)) return {};
  const QueuedRead read = ReadOf(tag);
  FindCompleted(read);
  Status sound = CheckRead(read);
  if (!sound.ok()) return MayReadAgain(read) ? SubmitRead(read) : sound;
  if (share_ != nullptr) {
    granted_bytes_ -= read.bytes;
    share_->Done(read.bytes);
  }
  CopyKept();
  Arrived(read);
  if (read.rows) return {};
  const ScheduledRead& scheduled = running_.schedule->reads[read.index];
  for (uint32_t i = scheduled.first_part; i < scheduled.first_part + scheduled.parts; ++i)
    --pieces_missing_[i];
  return {};
}

// A part is whole with the last of its pieces, whichever read that comes with.
void IoLane::FindCompleted(const QueuedRead& read) {
  completed_.clear();
  if (read.rows) return;
  const ScheduledRead& scheduled = running_.schedule->reads[read.index];
  for (uint32_t i = scheduled.first_part; i < scheduled.first_part + scheduled.parts; ++i) {
    if (pieces_missing_[i] == 1) completed_.push_back(&running_.schedule->parts[i]);
  }
}

bool IoLane::MayReadAgain(const QueuedRead& read) {
  MutexLock lock(mutex_);
  return arrivals_.MayReadAgain(read);
}

// Parts that are to stay, but were not read into their places.
void IoLane::CopyKept() {
  for (const ScheduledPart* part : completed_) {
    if (part->copy_place < 0) continue;
    const auto bytes = MemoryOf(part->landing).subspan(part->place, part->part.length);
    std::copy(bytes.begin(), bytes.end(), running_.buffer.begin() + part->copy_place);
  }
}

QueuedRead IoLane::ReadOf(uint64_t tag) const {
  const auto& reads = running_.schedule->reads;
  if (tag >= reads.size()) {
    const size_t range = tag - reads.size();
    return {true, range, running_rows_.reads->ranges[range].length, 0};
  }
  return {false, tag, reads[tag].length, reads[tag].group};
}

Status IoLane::CheckRead(const QueuedRead& read) const {
  if (read.rows) {
    return CheckEmbeddingRange(index_, *running_rows_.reads, read.index, running_rows_.blocks,
                               reader_.name());
  }
  for (const ScheduledPart* part : completed_) {
    const std::span<const uint8_t> memory = MemoryOf(part->landing);
    STI_RETURN_IF_ERROR(
        part->words ? CheckWordRows(index_.words, part->words->first,
                                    memory.subspan(part->place, part->part.length), reader_.name())
                    : CheckScheduledPart(*running_.schedule, *part, memory, reader_.name()));
  }
  return {};
}

void IoLane::Arrived(const QueuedRead& read) {
  MutexLock lock(mutex_);
  arrivals_.Arrived(read, completed_);
  queue_.Arrived(read);
  if (!read.rows || !queue_.rows_missing()) from_lane_.NotifyAll();
}

void IoLane::Fail(Error error) {
  {
    MutexLock lock(mutex_);
    if (job_.tolerant) {
      if (!failed_read_) failed_read_ = std::move(error);
      return;
    }
    if (!error_) error_ = std::move(error);
    finishing_ = true;
    queue_.Abandon();
  }
  from_lane_.NotifyAll();
}

}  // namespace sti
