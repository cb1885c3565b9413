// The waits of the caller of an IO lane.
#include <algorithm>

#include "pipeline/lane/io_lane.h"

namespace sti {

// Where a read has failed and no other is under way, nothing that is missing will come.
bool IoLane::Over(const InterruptibleWait& wait) const {
  return error_ || wait.raised() || (failed_read_ && (stuck_ || !busy_));
}

Status IoLane::Outcome(const InterruptibleWait& wait, bool missing) const {
  if (error_) return *error_;
  if (wait.raised()) return CancelledError();
  if (missing && failed_read_ && (stuck_ || !busy_)) return *failed_read_;
  return {};
}

Status IoLane::WaitForTableRows() {
  const InterruptibleWait wait(interrupt_, mutex_, from_lane_);
  MutexLock lock(mutex_);
  while (!Over(wait) && queue_.rows_missing()) from_lane_.Wait(mutex_);
  return Outcome(wait, queue_.rows_missing());
}

Result<bool> IoLane::WaitForTableRowsUntil(Clock::time_point latest) {
  const InterruptibleWait wait(interrupt_, mutex_, from_lane_);
  MutexLock lock(mutex_);
  while (!Over(wait) && queue_.rows_missing() && from_lane_.WaitUntil(mutex_, latest)) {
  }
  STI_RETURN_IF_ERROR(Outcome(wait, queue_.rows_missing()));
  return !queue_.rows_missing();
}

void IoLane::CopyArrivedRows(std::vector<bool>* ranges) {
  MutexLock lock(mutex_);
  *ranges = rows_arrived_;
}

Status IoLane::WaitForGroup(uint32_t group) {
  const InterruptibleWait wait(interrupt_, mutex_, from_lane_);
  MutexLock lock(mutex_);
  while (!Over(wait) && queue_.GroupMissing(group)) from_lane_.Wait(mutex_);
  return Outcome(wait, queue_.GroupMissing(group));
}

Status IoLane::WaitForGroupUntil(uint32_t group, Clock::time_point latest) {
  const InterruptibleWait wait(interrupt_, mutex_, from_lane_);
  MutexLock lock(mutex_);
  while (!Over(wait) && queue_.GroupMissing(group) && from_lane_.WaitUntil(mutex_, latest)) {
  }
  return Outcome(wait, false);
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
  while (!Over(wait) && LacksStart(group, need_base)) {
    if (!latest) {
      from_lane_.Wait(mutex_);
    } else if (!from_lane_.WaitUntil(mutex_, *latest)) {
      break;
    }
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
