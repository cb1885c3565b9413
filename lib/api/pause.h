// A pause between the inputs of a session. Inputs that come within the gap are turns of one
// engagement; a longer pause ends it, and what was kept for the next turn is given back while
// nobody waits. So is, after an idle time, the memory that only inputs need.
#pragma once

#include <functional>
#include <limits>
#include <optional>

#include "api/session.h"
#include "base/clock.h"
#include "base/result.h"

namespace sti {

/// A longer pause begins a new engagement, where nobody says otherwise.
inline constexpr double kTurnGap_us = 60e6;

/// One pause, which begins when it is made. Whoever waits calls Act, then waits for an input until
/// DueUs, and again until one is there. One thread at a time.
class Pause {
 public:
  static constexpr double kNever_us = std::numeric_limits<double>::infinity();

  /// `rested` is called after the session has given memory back; may be empty. Both outlive it.
  Pause(Session& session, double turn_gap_us, std::optional<double> idle_us,
        const std::function<void()>& rested)
      : session_(session),
        rested_(rested),
        gap_us_(turn_gap_us),
        idle_us_(idle_us.value_or(kNever_us)) {}

  /// Does what is due.
  [[nodiscard]] Status Act();
  /// Returns in how many microseconds something is due; kNever_us: nothing will be.
  [[nodiscard]] double DueUs() const;

 private:
  [[nodiscard]] double WaitedUs() const { return MicrosecondsBetween(began_, Clock::now()); }

  Session& session_;
  const std::function<void()>& rested_;
  double gap_us_;   ///< kNever_us once the engagement has ended
  double idle_us_;  ///< kNever_us once memory was given back
  const Clock::time_point began_ = Clock::now();
};

}  // namespace sti
