#include "api/pause.h"

#include <algorithm>

namespace sti {

Status Pause::Act() {
  const double waited_us = WaitedUs();
  if (waited_us >= gap_us_) {
    STI_RETURN_IF_ERROR(session_.EndEngagement());
    gap_us_ = kNever_us;
  }
  if (waited_us >= idle_us_) {
    STI_RETURN_IF_ERROR(session_.Rest());
    if (rested_) rested_();
    idle_us_ = kNever_us;
  }
  return {};
}

double Pause::DueUs() const { return std::min(gap_us_, idle_us_) - WaitedUs(); }

}  // namespace sti
