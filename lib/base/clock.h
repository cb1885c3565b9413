// Times of one monotonic clock, and spans between them in microseconds.
#pragma once

#include <algorithm>
#include <chrono>

namespace sti {

using Clock = std::chrono::steady_clock;

/// Returns the microseconds from `begin` to `end`, negative if `end` is earlier.
inline double MicrosecondsBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

/// Returns `time_us` microseconds as a span of the clock. Bounded to 1e13 µs, some months, either
/// way, so that no time out of a plan overflows the clock; what is not a number is the least.
inline Clock::duration Microseconds(double time_us) {
  constexpr double kMost_us = 1e13;
  time_us = time_us > -kMost_us ? std::min(time_us, kMost_us) : -kMost_us;
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double, std::micro>(time_us));
}

}  // namespace sti
