// Times a piece of work by the wall clock.
#pragma once

#include "base/clock.h"

namespace sti {

/// Returns the microseconds that `body` takes.
template <typename Body>
double TimeUs(Body body) {
  const auto begin = Clock::now();
  body();
  return MicrosecondsBetween(begin, Clock::now());
}

}  // namespace sti
