#include "pipeline/io_share.h"

#include <algorithm>
#include <chrono>

namespace sti {

uint32_t IoShare::Join() {
  std::lock_guard lock(mutex_);
  const auto free =
      std::find_if(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return !lane.joined; });
  const auto at = static_cast<uint32_t>(free - lanes_.begin());
  if (free == lanes_.end()) lanes_.emplace_back();
  lanes_[at] = {true, false, 0};
  return at;
}

void IoShare::Leave(uint32_t lane) {
  {
    std::lock_guard lock(mutex_);
    lanes_[lane] = {};
  }
  turn_.notify_all();
}

bool IoShare::TryBegin(uint32_t lane, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  Lane& self = lanes_[lane];
  if (!self.wants) {
    self.wants = true;
    self.served = std::max(self.served, reached_ - std::min(reached_, kCreditBytes));
  }
  const bool room = in_flight_ == 0 || in_flight_ + bytes <= most_bytes_;
  if (!room || !IsNext(lane)) return false;
  self.wants = false;
  reached_ = std::max(reached_, self.served);
  self.served += bytes;
  in_flight_ += bytes;
  return true;
}

void IoShare::WaitForTurn() {
  std::unique_lock lock(mutex_);
  turn_.wait_for(lock, std::chrono::milliseconds(1));
}

void IoShare::GiveUp(uint32_t lane) {
  {
    std::lock_guard lock(mutex_);
    lanes_[lane].wants = false;
  }
  turn_.notify_all();
}

void IoShare::Done(uint64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    in_flight_ -= bytes;
  }
  turn_.notify_all();
}

bool IoShare::IsNext(uint32_t lane) const {
  return std::none_of(lanes_.begin(), lanes_.end(), [&](const Lane& other) {
    return other.wants && other.served < lanes_[lane].served;
  });
}

}  // namespace sti
