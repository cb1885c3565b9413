// The work of --replan: between inputs the session's plan follows the device, and the plan file on
// SIGHUP. The library decides and plans (api/replanner.h); here is what a process sees of its
// surroundings.
#pragma once

#include <optional>
#include <string>

#include "api/replanner.h"
#include "api/session.h"
#include "base/clock.h"
#include "base/memory_pressure.h"
#include "base/result.h"
#include "common/tool.h"
#include "options.h"

namespace sti {

/// Follows the device for one session, if --replan is given. One thread.
class Adjuster {
 public:
  /// Reads profile and importance, and takes SIGHUP from now on. Does nothing without --replan. All
  /// arguments outlive it.
  static Result<Adjuster> Make(Session& session, const RunOptions& options, const Tool& tool);

  /// Returns whether the plan follows anything.
  [[nodiscard]] bool on() const { return replanner_.has_value(); }
  /// Looks, between two inputs, and goes on under another plan where that is called for; says what
  /// was done.
  [[nodiscard]] Status Look();

 private:
  Adjuster(const RunOptions& options, const Tool& tool) : options_(&options), tool_(&tool) {}
  [[nodiscard]] Status ReadPlanAgain();
  [[nodiscard]] Surroundings SeeSurroundings(Clock::time_point now);

  const RunOptions* options_;
  const Tool* tool_;
  std::optional<MemoryPressure> memory_;
  std::optional<Replanner> replanner_;
  Clock::time_point seen_;  ///< when the system was asked last
  Surroundings last_;
};

}  // namespace sti
