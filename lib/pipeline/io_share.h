// One flash under several IO lanes, each of which reads for one pipeline. An app that opens several
// models on one flash gives all their pipelines one share: lanes that want to read at the same time
// get the same number of bytes each.
#pragma once

#include <cstdint>
#include <vector>

#include "base/mutex.h"

namespace sti {

/// Grants reads to lanes. A lane asks before each read (TryBegin) and reports its end (Done). While
/// several want to read, the one that was granted fewest bytes goes first, whatever the sizes of
/// their reads. A lane that comes back after it wanted nothing counts as at most kCreditBytes
/// behind the others, so that it cannot keep them from reading until it has caught up. Thread-safe.
class IoShare {
 public:
  static constexpr uint64_t kCreditBytes = uint64_t{512} << 10;

  /// At most `bytes_in_flight` in all lanes together; a single larger read goes alone.
  explicit IoShare(uint64_t bytes_in_flight) : most_bytes_(bytes_in_flight) {}

  /// Adds a lane and returns its number, which the other calls take.
  uint32_t Join() STI_EXCLUDES(mutex_);
  /// Removes a lane that wants nothing more; a later lane may get its number.
  void Leave(uint32_t lane) STI_EXCLUDES(mutex_);

  /// Grants the lane a read of `bytes` and returns true, or returns false: then others go first,
  /// and the lane counts as wanting to read until a read is granted to it or it calls Withdraw.
  [[nodiscard]] bool TryBegin(uint32_t lane, uint64_t bytes) STI_EXCLUDES(mutex_);
  /// Waits until TryBegin is worth another try, at most a millisecond.
  void WaitForGrant() STI_EXCLUDES(mutex_);
  /// Takes back that the lane wants to read.
  void Withdraw(uint32_t lane) STI_EXCLUDES(mutex_);
  /// Reports that a read of `bytes`, which was granted, has ended.
  void Done(uint64_t bytes) STI_EXCLUDES(mutex_);

 private:
  struct Lane {
    bool joined = false;
    bool wants = false;
    uint64_t served = 0;  ///< bytes granted, and those that the lane counts as if it had them
  };
  [[nodiscard]] bool IsNext(uint32_t lane) const STI_REQUIRES(mutex_);

  const uint64_t most_bytes_;
  Mutex mutex_;
  CondVar moved_on_;  ///< signalled when a read has ended or a lane wants none any more
  std::vector<Lane> lanes_ STI_GUARDED_BY(mutex_);
  uint64_t in_flight_ STI_GUARDED_BY(mutex_) = 0;
  /// The most that `served` of a lane was just before it was granted a read: how far those that
  /// read have come, which a lane that comes back is measured by.
  uint64_t reached_ STI_GUARDED_BY(mutex_) = 0;
};

}  // namespace sti
