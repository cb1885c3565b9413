// Between inputs the session's plan follows the plan file on SIGHUP and, with --replan, the device.
// The library decides and plans (api/replanner.h); here is what a process sees of its
// surroundings.
#pragma once

#include <optional>
#include <string>

#include "api/replanner.h"
#include "api/session.h"
#include "base/clock.h"
#include "base/process_memory.h"
#include "base/result.h"
#include "common/tool.h"
#include "options.h"

namespace sti {

/// Follows plan file and device for one session. One thread.
class Adjuster {
 public:
  /// Takes SIGHUP from now on, where there is a plan file to read again: under --replan, or where
  /// stdin is no terminal, whose end SIGHUP would tell of. It comes before a session is opened,
  /// which takes its time: a SIGHUP meanwhile counts for the first Look.
  static void Listen(const RunOptions& options);
  /// Reads profile and importance, under --replan. All arguments outlive it.
  static Result<Adjuster> Make(Session& session, const RunOptions& options, const Tool& tool);

  /// Returns whether the plan follows anything.
  [[nodiscard]] bool on() const { return follows_file_; }
  /// Looks, between two inputs, and goes on under another plan where that is called for; says what
  /// was done.
  [[nodiscard]] Status Look();

 private:
  Adjuster(Session& session, const RunOptions& options, const Tool& tool)
      : session_(&session), options_(&options), tool_(&tool) {}
  [[nodiscard]] Status ReadPlanAgain();
  [[nodiscard]] Status Take(Plan plan);
  [[nodiscard]] Surroundings SeeSurroundings(Clock::time_point now);

  Session* session_;
  const RunOptions* options_;
  const Tool* tool_;
  bool follows_file_ = false;
  std::optional<MemoryPressure> memory_;
  std::optional<Replanner> replanner_;  ///< with --replan
  Clock::time_point seen_;              ///< when the system was asked last
  Surroundings last_;
};

}  // namespace sti
