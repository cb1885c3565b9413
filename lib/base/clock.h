// Times of one monotonic clock, and spans between them in microseconds.
#pragma once

#include <algorithm>
#include <chrono>

namespace sti {

using Clock = std::chrono::steady_clock;

inline double MicrosecondsBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

/// Bounded to some months, so that no time of a plan overflows.
inline Clock::duration Microseconds(double time_us) {
  constexpr double kMost_us = 1e13;
  time_us = time_us > -kMost_us ? std::min(time_us, kMost_us) : -kMost_us;
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double, std::micro>(time_us));
}

}  // namespace sti
