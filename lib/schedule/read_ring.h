// A ring of memory that reads take their places in, the oldest overwritten first. A place is free
// again once the group is computed that it was read for.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "schedule/load_schedule.h"

namespace sti {

/// Hands out places in [0, bytes) in order, and remembers what each overwrites.
class ReadRing {
 public:
  explicit ReadRing(uint64_t bytes) : bytes_(bytes) {}

  /// Sets `place` and `after` of the reads of one group, groups ascending, none larger than the
  /// ring.
  void PlaceGroup(std::span<ScheduledRead* const> group);

 private:
  [[nodiscard]] bool Fits(std::span<ScheduledRead* const> group) const;
  void Place(ScheduledRead& read);

  uint64_t bytes_;
  uint64_t next_ = 0;
  uint32_t freed_ = 0;
  std::deque<ScheduledRead> live_;
};

}  // namespace sti
