// One device under several lanes. A lane is what reads for one pipeline; apps that open several
// models on one flash give all their pipelines one share, and each gets the same bytes while it
// wants them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/mutex.h"

namespace sti {

/// Thread-safe. A lane asks before each read and gives back after it. While several want to read,
/// the one that was served least goes first, whatever the sizes of their reads; a lane that wanted
/// nothing for a while comes back with at most kCreditBytes of credit.
class IoShare {
 public:
  static constexpr uint64_t kCreditBytes = uint64_t{512} << 10;

  /// At most `bytes_in_flight` in all lanes together; a single larger read goes alone.
  explicit IoShare(uint64_t bytes_in_flight) : most_bytes_(bytes_in_flight) {}

  /// Adds a lane and returns its number.
  uint32_t Join() STI_EXCLUDES(mutex_);
  void Leave(uint32_t lane) STI_EXCLUDES(mutex_);

  /// Returns whether the lane may begin a read of `bytes` now. If not, others go first, and the
  /// lane counts as wanting until a read is granted to it or it gives up.
  [[nodiscard]] bool TryBegin(uint32_t lane, uint64_t bytes) STI_EXCLUDES(mutex_);
  /// Waits until TryBegin is worth another try, or a millisecond.
  void WaitForGrant() STI_EXCLUDES(mutex_);
  void GiveUp(uint32_t lane) STI_EXCLUDES(mutex_);
  /// Gives back `bytes` that were granted.
  void Done(uint64_t bytes) STI_EXCLUDES(mutex_);

 private:
  struct Lane {
    bool joined = false;
    bool wants = false;
    uint64_t served = 0;
  };
  [[nodiscard]] bool IsNext(uint32_t lane) const STI_REQUIRES(mutex_);

  const uint64_t most_bytes_;
  Mutex mutex_;
  CondVar moved_on_;  // a read is done, or a lane wants none any more
  std::vector<Lane> lanes_ STI_GUARDED_BY(mutex_);
  uint64_t in_flight_ STI_GUARDED_BY(mutex_) = 0;
  /// The most served that a lane had when it was granted a read.
  uint64_t reached_ STI_GUARDED_BY(mutex_) = 0;
};

}  // namespace sti
