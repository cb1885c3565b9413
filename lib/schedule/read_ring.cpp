#include "schedule/read_ring.h"

#include <algorithm>

namespace sti {
namespace {

bool Overlaps(const ScheduledRead& a, const ScheduledRead& b) {
  return a.place < b.place + b.length && b.place < a.place + a.length;
}

}  // namespace

// A group may go around the ring's end, but not so far that it meets itself: a read that waits for
// its own layer to be computed would wait for ever. Such a group begins at the ring's start, where
// any group fits that is not larger than the ring.
void ReadRing::PlaceGroup(std::span<ScheduledRead* const> group) {
  if (!Fits(group)) next_ = 0;
  for (ScheduledRead* read : group) Place(*read);
}

bool ReadRing::Fits(std::span<ScheduledRead* const> group) const {
  uint64_t at = next_;
  bool around = false;
  for (const ScheduledRead* read : group) {
    around = around || at + read->length > bytes_;
    if (at + read->length > bytes_) at = 0;
    at += read->length;
    if (around && at > next_) return false;
  }
  return true;
}

void ReadRing::Place(ScheduledRead& read) {
  if (next_ + read.length > bytes_) next_ = 0;
  read.place = next_;
  while (!live_.empty() && Overlaps(live_.front(), read)) {
    freed_ = std::max(freed_, live_.front().group + 1);
    live_.pop_front();
  }
  // A read that wraps skips those near the ring's end, which are older still and stay in front.
  for (const ScheduledRead& other : live_) {
    if (Overlaps(other, read)) freed_ = std::max(freed_, other.group + 1);
  }
  std::erase_if(live_, [&](const ScheduledRead& other) { return Overlaps(other, read); });
  read.after = freed_;
  live_.push_back(read);
  next_ += read.length;
}

}  // namespace sti
