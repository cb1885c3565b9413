#include "pipeline/io_share.h"

#include <algorithm>
#include <chrono>

namespace sti {

uint32_t IoShare::Join() {
  MutexLock lock(mutex_);
  const auto free =
      std::find_if(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return !lane.joined; });
  const auto at = static_cast<uint32_t>(free - lanes_.begin());
  if (free == lanes_.end()) lanes_.emplace_back();
  lanes_[at] = {true, false, 0};
  return at;
}

void IoShare::Leave(uint32_t lane) {
  {
    MutexLock lock(mutex_);
    lanes_[lane] = {};
  }
  moved_on_.NotifyAll();
}

bool IoShare::TryBegin(uint32_t lane, uint64_t bytes) {
  MutexLock lock(mutex_);
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

void IoShare::WaitForGrant() {
  MutexLock lock(mutex_);
  moved_on_.WaitUntil(mutex_, Clock::now() + std::chrono::milliseconds(1));
}

void IoShare::Withdraw(uint32_t lane) {
  {
    MutexLock lock(mutex_);
    lanes_[lane].wants = false;
  }
  moved_on_.NotifyAll();
}

void IoShare::Done(uint64_t bytes) {
  {
    MutexLock lock(mutex_);
    in_flight_ -= bytes;
  }
  moved_on_.NotifyAll();
}

bool IoShare::IsNext(uint32_t lane) const {
  const uint64_t served = lanes_[lane].served;
  return std::none_of(lanes_.begin(), lanes_.end(),
                      [&](const Lane& other) { return other.wants && other.served < served; });
}

}  // namespace sti
