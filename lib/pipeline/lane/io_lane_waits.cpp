// The waits of an IO lane: those of its caller, and those of its own thread but for reads.
#include <algorithm>

#include "pipeline/io_share.h"
#include "pipeline/lane/io_lane.h"

namespace sti {

// Where a read has failed and no other is under way, nothing that is missing will come.
bool IoLane::NothingComes() const { return failed_read_ && (stuck_ || !busy_); }

bool IoLane::Over(const InterruptibleWait& wait) const {
  return error_ || wait.raised() || NothingComes();
}

Status IoLane::Outcome(const InterruptibleWait& wait, bool missing) const {
  if (error_) return *error_;
  if (wait.raised()) return CancelledError();
  if (missing && NothingComes()) return *failed_read_;
  return {};
}

bool IoLane::WaitUntil(std::optional<Clock::time_point> latest) {
  if (latest) return from_lane_.WaitUntil(mutex_, *latest);
  from_lane_.Wait(mutex_);
  return true;
}

Result<bool> IoLane::WaitForTableRows(std::optional<Clock::time_point> latest) {
  const InterruptibleWait wait(interrupt_, mutex_, from_lane_);
  MutexLock lock(mutex_);
  while (!Over(wait) && queue_.rows_missing() && WaitUntil(latest)) {
  }
  STI_RETURN_IF_ERROR(Outcome(wait, queue_.rows_missing()));
  return !queue_.rows_missing();
}

void IoLane::CopyArrivedRows(std::vector<bool>* ranges) {
  MutexLock lock(mutex_);
  *ranges = arrivals_.rows();
}

Status IoLane::WaitForGroup(uint32_t group, std::optional<Clock::time_point> latest) {
  const InterruptibleWait wait(interrupt_, mutex_, from_lane_);
  MutexLock lock(mutex_);
  while (!Over(wait) && queue_.GroupMissing(group) && WaitUntil(latest)) {
  }
  return Outcome(wait, !latest && queue_.GroupMissing(group));
}

Result<bool> IoLane::WaitInTime(uint32_t group, bool need_base,
                                std::optional<Clock::time_point> latest) {
  const InterruptibleWait wait(interrupt_, mutex_, from_lane_);
  MutexLock lock(mutex_);
  const auto by = [&](Clock::time_point moment) {
    return latest ? std::min(moment, *latest) : moment;
  };
  while (!Over(wait) && queue_.GroupMissing(group) &&
         from_lane_.WaitUntil(mutex_, by(queue_.StartOf(group)))) {
  }
  while (!Over(wait) && queue_.BasesMissing(group) &&
         from_lane_.WaitUntil(mutex_, by(queue_.BasesBy(group)))) {
  }
  while (!Over(wait) && LacksStart(group, need_base) && WaitUntil(latest)) {
  }
  STI_RETURN_IF_ERROR(Outcome(wait, LacksStart(group, need_base)));
  return !LacksStart(group, need_base);
}

bool IoLane::LacksStart(uint32_t group, bool need_base) const {
  return queue_.GroupMissing(group) &&
         ((need_base && queue_.BasesArrived(group) == 0) || queue_.ResidentMissing(group));
}

bool IoLane::CanStart(uint32_t group, bool need_base) {
  MutexLock lock(mutex_);
  return !error_ && !LacksStart(group, need_base);
}

// It is another lane's turn. With no read of its own in flight, this one sleeps until the share
// moves on.
bool IoLane::AwaitsShare() {
  refused_ = false;
  {
    MutexLock lock(mutex_);
    if (finishing_) return false;
  }
  share_->WaitForGrant();
  return true;
}

// Nothing is in flight and nothing may begin: a computed layer makes room, table rows may follow.
// Returns false if the job is done.
bool IoLane::AwaitsEvent(uint64_t seen) {
  MutexLock lock(mutex_);
  const bool rows_known = job_.rows_come == RowsCome::kNever || rows_.reads != nullptr;
  if (finishing_ || (rows_known && queue_.exhausted())) return false;
  stuck_ = events_ == seen;
  if (failed_read_) from_lane_.NotifyAll();  // whoever waits for it need not wait any longer
  while (!finishing_ && events_ == seen) to_lane_.Wait(mutex_);
  return true;
}

}  // namespace sti
