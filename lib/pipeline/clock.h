#pragma once

#include <chrono>

namespace sti {

using Clock = std::chrono::steady_clock;

inline double MicrosecondsBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

inline Clock::duration Microseconds(double time_us) {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double, std::micro>(time_us));
}

}  // namespace sti
