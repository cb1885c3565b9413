// Whether memory is short, as the kernel sees it: how long tasks wait for memory (pressure stall
// information, PSI), and what befell the control group of this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace sti {

/// Follows the pressure on memory: of the control group of this process where that is of version 2
/// and the kernel tells, and of the whole machine. One thread at a time.
class MemoryPressure {
 public:
  /// Memory is short where some task has waited for it for this share of the time.
  static constexpr double kShortShare = 0.1;

  /// Reads `root`/proc and the group's files below `root`, which is "" but in tests.
  explicit MemoryPressure(const std::string& root = "");

  /// Returns whether memory was short between the last call and this, at the moment `now`: tasks
  /// waited for it, or the group was slowed down at its memory.high, or had none left (`oom` of its
  /// memory.events). False at the first call, and where the kernel does not tell. That a group is
  /// at its memory.max says nothing: it gives up cached pages first.
  [[nodiscard]] bool WasShort(Clock::time_point now);

 private:
  std::vector<std::string> stall_files_;
  std::string events_file_;                        ///< empty: there is none
  std::vector<std::optional<int64_t>> stalls_us_;  ///< [stall_files_] at the last call
  std::optional<double> events_;                   ///< at the last call
  Clock::time_point last_;
};

}  // namespace sti
