// One device under several lanes: each gets the same bytes while it wants them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace sti {

/// Thread-safe. A lane asks before each read and gives back after it. While several want to read,
/// the one that was served least goes first, whatever the sizes of their reads; a lane that wanted
/// nothing for a while comes back with at most kCreditBytes of credit.
class IoShare {
 public:
  static constexpr uint64_t kCreditBytes = uint64_t{512} << 10;

  /// At most `bytes_in_flight` in all lanes together; a single larger read goes alone.
  explicit IoShare(uint64_t bytes_in_flight) : most_bytes_(bytes_in_flight) {}

  uint32_t Join();
  void Leave(uint32_t lane);

  /// True: the lane may begin a read of `bytes` now. False: it is somebody else's turn; the lane
  /// counts as wanting until it is granted or gives up.
  [[nodiscard]] bool TryBegin(uint32_t lane, uint64_t bytes);
  /// Waits until TryBegin is worth another try, or a millisecond.
  void WaitForTurn();
  void GiveUp(uint32_t lane);
  void Done(uint64_t bytes);

 private:
  struct Lane {
    bool joined = false;
    bool wants = false;
    uint64_t served = 0;
  };
  [[nodiscard]] bool IsNext(uint32_t lane) const;

  const uint64_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable turn_;
  std::vector<Lane> lanes_;
  uint64_t in_flight_ = 0;
  uint64_t reached_ = 0;  ///< the most served that a lane had when it was granted a read
};

}  // namespace sti
