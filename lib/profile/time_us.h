// Times a piece of work by the wall clock.
#pragma once

#include <chrono>

namespace sti {

/// Returns the microseconds that `body` takes.
template <typename Body>
double TimeUs(Body body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
      .count();
}

}  // namespace sti
