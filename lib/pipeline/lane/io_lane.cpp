#include "pipeline/lane/io_lane.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <system_error>
#include <utility>

#include "base/remedy.h"
#include "base/thread.h"
#include "pipeline/io_share.h"

namespace sti {
namespace {

// The bandwidth is that of about the last so many bytes, not reads: a row of a table is a small
// one, and takes long for its bytes.
constexpr double kRecentBytes = 320 << 10;

}  // namespace

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
    job_.depth = std::clamp(job.depth, 1U, reader_.depth());
    rows_ = {};
    rows_arrived_.clear();
    queue_.Reset(*job.schedule, job.groups);
    read_again_.assign(job.schedule->reads.size(), false);
    arrived_.assign(job.schedule->requests.size(), PartSet());
    CountPieces(job.schedule->parts);
    error_ = no_thread_;
    failed_read_.reset();
    stuck_ = false;
    const auto now = Clock::now();
    report_.bytes = 0;
    report_.busy_us = 0;
    report_.table_rows_begin = report_.table_rows_ready = now;
    report_.begin.assign(job.groups, Clock::time_point{});
    report_.ready.assign(job.groups, now);
    report_.reads.assign(job.schedule->reads.size(), {now, now});
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
    // Where memory runs out here, the lane has no rows to read yet.
    rows_arrived_.assign(rows.ranges.size(), false);
    read_again_.resize(job_.schedule->reads.size() + rows.ranges.size(), false);
    rows_ = {&rows, blocks};
    queue_.AddRows(rows.ranges.size(), rows.bytes);
    report_.table_rows_begin = report_.table_rows_ready = Clock::now();
    NoteEvent();
  }
  to_lane_.NotifyAll();
}

void IoLane::ShareOutTime(std::span<const Clock::time_point> latest, double planned_rate,
                          uint64_t row_bytes) {
  MutexLock lock(mutex_);
  if (rows_.reads == nullptr && job_.rows_come != RowsCome::kNever) queue_.ExpectRows(row_bytes);
  queue_.ShareOutTime(latest, Clock::now(), ExpectedRate(planned_rate));
}

std::span<const PartSet> IoLane::TakeArrived(uint32_t group) {
  MutexLock lock(mutex_);
  queue_.GroupStarted(group);
  NoteEvent();
  const auto& requests = job_.schedule->requests;
  const auto [first, last] = std::equal_range(
      requests.begin(), requests.end(), ShardRequest{{}, 0, group},
      [](const ShardRequest& a, const ShardRequest& b) { return a.group < b.group; });
  taken_.assign(arrived_.begin() + (first - requests.begin()),
                arrived_.begin() + (last - requests.begin()));
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
    if (report != nullptr) *report = report_;
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
  return arrived_;
}

double IoLane::Rate() const { return recent_us_ > 0 ? recent_bytes_ / recent_us_ : 0; }

// The bandwidth of the last few reads says little about all that are to come: a fifth below the
// planned one may be chance. If it is not, later layers have less, as time is shared out again.
double IoLane::ExpectedRate(double planned_rate) const {
  constexpr double kChance = 0.2;
  return Rate() > (1 - kChance) * planned_rate ? std::max(Rate(), planned_rate) : Rate();
}

double IoLane::bytes_per_us() {
  MutexLock lock(mutex_);
  return Rate();
}

void IoLane::ExpectBandwidth(double bytes_per_us) {
  constexpr double kExpectedBytes = 1 << 20;  // the weight of an expectation
  MutexLock lock(mutex_);
  if (recent_us_ > 0 || bytes_per_us <= 0) return;
  recent_bytes_ = kExpectedBytes;
  recent_us_ = kExpectedBytes / bytes_per_us;
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
  if (NextLarge() != nullptr) return false;
  if (share_ != nullptr && granted_bytes_ > 0) share_->Done(std::exchange(granted_bytes_, 0));
  MutexLock lock(mutex_);
  return queue_.InFlightFailed();
}

void IoLane::TakeJob() {
  refused_ = false;
  running_rows_ = {};
  large_.clear();
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

bool IoLane::SubmitNext() {
  LargeRead* large = NextLarge();
  const Turn turn = NextTurn(large != nullptr);
  if (turn == Turn::kNothing) return false;
  std::optional<QueuedRead> next;
  if (turn == Turn::kRead) next = TakeNext();
  if (!next && large == nullptr) return false;
  if (next && share_ != nullptr) granted_bytes_ += next->bytes;
  const Status submitted = next ? SubmitRead(*next) : SubmitPiece(*large);
  if (!submitted.ok()) Fail(submitted.error());
  return submitted.ok();
}

// A large read that was begun goes on before another begins, but rows go ahead of both. The rest of
// it is left where nobody waits any more.
//
// Rows are small: however many are in flight, later reads wait little longer. Beside another reader
// of the device, which has a large read there most of the time, each turn brings all that are.
IoLane::Turn IoLane::NextTurn(bool large) {
  MutexLock lock(mutex_);
  const bool rows = queue_.rows_waiting();
  const uint32_t most = rows ? reader_.depth() : job_.depth;
  if (finishing_ || reader_.in_flight() >= most) return Turn::kNothing;
  return large && !rows ? Turn::kPiece : Turn::kRead;
}

// Returns whether there is more than one piece to read into `memory`.
bool IoLane::IsLarge(std::span<const uint8_t> memory) const {
  return memory.size() >= 2 * running_.schedule->piece_bytes;
}

IoLane::LargeRead* IoLane::NextLarge() {
  const auto next =
      std::ranges::find_if(large_, [](const LargeRead& large) { return !large.rest.empty(); });
  return next == large_.end() ? nullptr : &*next;
}

Status IoLane::SubmitPiece(LargeRead& large) {
  const std::span<uint8_t> piece =
      IsLarge(large.rest) ? large.rest.first(running_.schedule->piece_bytes) : large.rest;
  const ReadRequest request{large.offset, piece, large.tag};
  large.offset += piece.size();
  large.rest = large.rest.subspan(piece.size());
  ++large.in_flight;
  return reader_.Submit(request);
}

// Notes that a read with this tag has ended. Returns whether others of the same large one have not.
bool IoLane::IsPiece(uint64_t tag) {
  const auto large = std::ranges::find(large_, tag, &LargeRead::tag);
  if (large == large_.end()) return false;
  if (--large->in_flight > 0 || !large->rest.empty()) return true;
  large_.erase(large);
  return false;
}

std::optional<QueuedRead> IoLane::TakeNext() {
  MutexLock lock(mutex_);
  if (finishing_) return std::nullopt;
  if (job_.rows_come == RowsCome::kNext && rows_.reads == nullptr) return std::nullopt;
  const uint64_t left_out = queue_.left_out();
  const auto next = queue_.Next(Clock::now(), Rate(), NextTableRowBytes());
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
  {
    MutexLock lock(mutex_);
    const auto now = Clock::now();
    if (reader_.in_flight() == 0) busy_since_ = now;
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
      report_.reads[read.index].begin = now;
      if (report_.begin[read.group] == Clock::time_point{}) report_.begin[read.group] = now;
    }
  }
  if (!IsLarge(request.buffer)) return reader_.Submit(request);
  return SubmitPiece(large_.emplace_back(LargeRead{request.tag, request.offset, request.buffer}));
}

std::span<uint8_t> IoLane::MemoryOf(Landing landing) const {
  return landing == Landing::kBuffer ? running_.buffer : running_.arena;
}

Status IoLane::Complete(uint64_t tag) {
  if (IsPiece(tag)) return {};
  const QueuedRead read = ReadOf(tag);
  FindCompleted(read);
  Status sound = CheckRead(read);
  if (!sound.ok()) return MayReadAgain(tag, read.bytes) ? SubmitRead(read) : sound;
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

// Once a job.
bool IoLane::MayReadAgain(uint64_t tag, uint64_t bytes) {
  MutexLock lock(mutex_);
  if (read_again_[tag]) return false;
  read_again_[tag] = true;
  report_.bytes += bytes;
  return true;
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
  const auto now = Clock::now();
  const double time_us = MicrosecondsBetween(busy_since_, now);
  busy_since_ = now;
  report_.busy_us += time_us;
  report_.bytes += read.bytes;
  const double kept = std::exp(-static_cast<double>(read.bytes) / kRecentBytes);
  recent_bytes_ = kept * recent_bytes_ + static_cast<double>(read.bytes);
  recent_us_ = kept * recent_us_ + time_us;
  queue_.Arrived(read);
  if (read.rows) {
    rows_arrived_[read.index] = true;
    report_.table_rows_ready = now;
    if (!queue_.rows_missing()) from_lane_.NotifyAll();
    return;
  }
  for (const ScheduledPart* part : completed_) {
    if (!part->kind) continue;
    PartSet& arrived = arrived_[part->request];
    arrived = arrived.With(*part->kind);
  }
  report_.reads[read.index].end = report_.ready[read.group] = now;
  from_lane_.NotifyAll();
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
