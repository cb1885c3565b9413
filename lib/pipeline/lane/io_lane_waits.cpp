// The waits of the caller of an IO lane.
#include <algorithm>

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
  *ranges = rows_arrived_;
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

}  // namespace sti
