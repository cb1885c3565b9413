#include "pipeline/lane/loader.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sti {

Loader::Loader(ContainerFile& file, ResidentModel& resident, const LoaderOptions& options)
    : file_(file), resident_(resident), options_(options) {}

Loader::Places Loader::UsePlan(const Plan& plan, uint64_t most_staging) {
  if (!lane_) lane_ = MakeLane(file_.reader());
  Places next;
  next.most_staging = most_staging;
  next.buffer = PreloadBuffer(file_.index(), plan);
  if (options_.lock) next.buffer.Lock();
  next.limits.arena_bytes = most_staging != 0 ? most_staging : plan.staging_bytes.value_or(0);
  if (plan.read_bytes) next.limits.read_bytes = *plan.read_bytes;
  if (plan.read_depth) next.depth = *plan.read_depth;
  const uint32_t streams = std::max(plan.agents, plan.read_streams.value_or(1));
  next.depth = plan.agents > 0 ? 1 : ReadsInFlight(next.depth, streams);
  next.agents = std::max(plan.agents, 1U);
  next.streams = streams;
  HoldStreams(streams);
  places_.arena_bytes = arena_.size();
  GiveBackArena();
  return std::exchange(places_, std::move(next));
}

void Loader::TakeFrom(Places& before, std::span<const ShardAtBits> stays) {
  places_.buffer.TakeFrom(before.buffer, stays);
  before.buffer.KeepOnly({});
}

void Loader::GoBack(Places before, std::span<const ShardAtBits> stays, std::shared_ptr<void> rows) {
  Places after = std::exchange(places_, std::move(before));
  places_.buffer.TakeFrom(after.buffer, stays);
  given_up_ = GivenUp{std::move(after.buffer), std::move(rows)};
  if (state_ == LaneState::kIdle) LetGo();
}

// The arena is as it was before another plan was tried, too.
void Loader::LetGo() {
  given_up_.reset();
  FitArena(places_.arena_bytes);
}

std::unique_ptr<IoLane> Loader::MakeLane(BlockReader& reader) const {
  return std::make_unique<IoLane>(reader, file_.index(), options_.share, options_.interrupt);
}

Status Loader::Prepare(Route& route, const LaneJob& job) {
  RouteNeed need{job.bits, job.keep, job.held_then, job.only_ahead, job.degrade, places_.limits};
  const bool bounded = places_.most_staging != 0;
  // The plan's own bound is for its own reads; what is read before the first label, or because the
  // buffer was made smaller, may take more: as much as its largest layer.
  need.limits.grow = job.only_ahead || options_.lazy || !bounded;
  if (job.only_ahead)
    need.limits.arena_bytes = std::max<uint64_t>(need.limits.arena_bytes, kBlockBytes);
  if (ReadsBeforeComputing(route.plan()) && !bounded) need.limits.arena_bytes = 0;
  return route.Prepare(buffer(), resident_, need);
}

void Loader::Start(Route& route, const LaneJob& job, LaneState state, RowsCome rows_come) {
  state_ = state;
  route_ = job.route;
  degrade_ = job.degrade;
  evict_ = job.evict;
  keep_.assign(job.keep.begin(), job.keep.end());
  schedule_ = route.schedule();
  GrowArena(schedule_->arena_bytes);
  if (arena_use_ == ArenaUse::kRead) RegisterArena();
  if (arena_use_ == ArenaUse::kNew) arena_use_ = ArenaUse::kRead;
  HoldStreams(places_.streams);
  lane_->Start({schedule_, arena_.span(), buffer().span(), route.groups(), places_.depth, rows_come,
                job.tolerant, places_.agents});
}

// Another lane's reader, and one that was asked for fewer streams by a plan that was given up, are
// asked again.
void Loader::HoldStreams(uint32_t wanted) {
  BlockReader& reader = file_.reader();
  if (reader.streams() != wanted) reader.HoldStreams(wanted);
}

Status Loader::ReadRows(const EmbeddingReads& rows, std::span<uint8_t> blocks) {
  state_ = LaneState::kRunning;
  degrade_ = evict_ = false;
  schedule_ = std::make_shared<const LoadSchedule>();
  lane_->Start({schedule_, arena_.span(), buffer().span(), 0, places_.depth, RowsCome::kNext});
  lane_->ReadTableRows(rows, blocks);
  const Result<bool> read = lane_->WaitForTableRows();
  // Interrupted, reads are still in flight, whatever else went wrong.
  STI_RETURN_IF_ERROR(BecomeIdle());
  return read.ok() ? Status() : Status(read.error());
}

bool Loader::TakeOver(const LaneJob& job) {
  const bool same = state_ == LaneState::kWoken && route_ == job.route && degrade_ == job.degrade &&
                    evict_ == job.evict && std::ranges::equal(keep_, job.keep);
  // The run tries again what could not be read ahead.
  if (!same || lane_->HasFailed()) return false;
  state_ = LaneState::kRunning;
  return true;
}

bool Loader::ReadsFillBuffer() const {
  return std::any_of(schedule_->parts.begin(), schedule_->parts.end(),
                     [](const ScheduledPart& part) {
                       return part.landing == Landing::kBuffer || part.copy_place >= 0;
                     });
}

// Reads that a degraded run has not waited for may take seconds more; the next run has a deadline
// too. So it gets another lane and another arena, and the late one is let go when its reads have
// come.
void Loader::SetLateLaneAside(LeaveRowMemory leave_row_memory) {
  constexpr auto kPatience = std::chrono::milliseconds(2);
  constexpr size_t kMostLate = 3;
  std::erase_if(late_lanes_, [](const LateLane& late) { return late.lane->Idle(); });
  const bool waits = state_ == LaneState::kWoken || state_ == LaneState::kTrailing;
  if (!waits || !degrade_ || given_up_ || late_lanes_.size() == kMostLate) return;
  // A lane stays where memory is counted, or where a late read may still land in what others use.
  if (places_.most_staging != 0 || ReadsFillBuffer() || lane_->WaitIdleFor(kPatience)) return;
  auto reader = file_.reader().Clone();
  if (!reader.ok()) return;
  auto lane = MakeLane(**reader);
  AlignedBuffer arena(arena_.size());
  LockIfWanted(arena);
  lane->ExpectBandwidth(lane_->bytes_per_us());
  late_lanes_.reserve(kMostLate);
  (*reader)->ExpectReadsInto(arena.span());
  arena_use_ = ArenaUse::kRegistered;
  std::swap(arena, arena_);
  std::swap(lane, lane_);
  late_lanes_.push_back({file_.ReplaceReader(std::move(*reader)), std::move(arena),
                         leave_row_memory(), std::move(lane)});
  Evict();
}

void Loader::EndRun(bool ended_well) {
  // A read that is late for this run shall not delay its label too.
  if (ended_well && degrade_ && !lane_->Idle()) {
    state_ = LaneState::kTrailing;
  } else {
    (void)BecomeIdle();  // interrupted, it trails
  }
}

Status Loader::BecomeIdle() {
  if (state_ == LaneState::kIdle) return {};
  if (Status idle = lane_->WaitIdle(); !idle.ok()) {
    // The lane begins no more reads: no run can take it over.
    state_ = LaneState::kTrailing;
    return idle;
  }
  if (given_up_) {
    state_ = LaneState::kIdle;
    LetGo();
    return {};
  }
  const auto arrived = lane_->arrived();
  for (const ScheduledPart& part : schedule_->parts) {
    const bool stays = part.landing == Landing::kBuffer || part.copy_place >= 0;
    if (!stays || !part.kind || !arrived[part.request].Has(*part.kind)) continue;
    const ShardRequest& shard = schedule_->requests[part.request];
    buffer().Add(shard.id, *part.kind);
  }
  Evict();
  return {};
}

bool Loader::BecomeIdleBy(Clock::time_point latest) {
  if (state_ == LaneState::kIdle) return true;
  return lane_->WaitIdleFor(latest - Clock::now()) && BecomeIdle().ok();
}

void Loader::KeepLess(std::span<const ShardAtBits> shards) {
  keep_.assign(shards.begin(), shards.end());
  evict_ = true;
  if (state_ == LaneState::kIdle) buffer().KeepOnly(keep_);
}

Status Loader::AwaitAllLanes() {
  STI_RETURN_IF_ERROR(BecomeIdle());
  for (const LateLane& late : late_lanes_) STI_RETURN_IF_ERROR(late.lane->WaitIdle());
  late_lanes_.clear();
  return {};
}

bool Loader::AllLanesIdle() {
  return IsLaneIdle() && std::all_of(late_lanes_.begin(), late_lanes_.end(),
                                     [](const LateLane& late) { return late.lane->Idle(); });
}

Status Loader::Finish() {
  if (state_ != LaneState::kIdle) state_ = LaneState::kTrailing;  // which no run can take over
  if (lane_) STI_RETURN_IF_ERROR(lane_->WaitIdle());
  for (const LateLane& late : late_lanes_) STI_RETURN_IF_ERROR(late.lane->WaitIdle());
  return {};
}

void Loader::Evict() {
  if (evict_) buffer().KeepOnly(keep_);
  state_ = LaneState::kIdle;
}

Status Loader::TakeResident(const Route& route, uint32_t group) {
  const auto bytes = route.ResidentBytes(group, arena_.span());
  if (bytes.empty()) return {};
  if (group >= route.first_word_group()) {
    if (route.plan().keeps_vocabulary)
      resident_.SetWords(file_.index().words, route.WordsOf(group).first, bytes);
    return {};
  }
  if (group == route.layers()) return resident_.SetHead(file_.index(), bytes, file_.name());
  return resident_.SetLayer(file_.index(), route.plan().layers[group], bytes, file_.name());
}

void Loader::GrowArena(uint64_t bytes) {
  if (bytes <= arena_.size()) return;
  file_.reader().ExpectReadsInto({});
  arena_.Renew(bytes);
  arena_use_ = ArenaUse::kNew;
  LockIfWanted(arena_);
  if (options_.lazy) return;
  // Touched now, so that the first input does not pay for page faults.
  std::fill_n(arena_.data(), arena_.size(), uint8_t{0});
  RegisterArena();
}

void Loader::FitArena(uint64_t bytes) {
  if (bytes < arena_.size()) GiveBackArena();
  GrowArena(bytes);
}

// Registering takes all pages at once. Where the first label is in a hurry, the second run does it,
// which finds them touched.
void Loader::RegisterArena() {
  file_.reader().ExpectReadsInto(arena_.span());
  arena_use_ = ArenaUse::kRegistered;
}

void Loader::GiveBackArena() {
  file_.reader().ExpectReadsInto({});
  arena_ = AlignedBuffer();
  arena_use_ = ArenaUse::kNew;
}

void Loader::LockIfWanted(AlignedBuffer& memory) {
  if (options_.lock && lock_refusal_.ok()) lock_refusal_ = memory.Lock();
}

}  // namespace sti
