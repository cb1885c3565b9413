// The memory of this process, as the kernel counts it, and whether memory is short: how long tasks
// wait for it (pressure stall information, PSI), and what befell the control group of this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace sti {

/// Return the resident memory of this process in bytes, now and at most so far (VmRSS and VmHWM of
/// /proc/self/status); 0 where the kernel does not tell.
uint64_t CurrentRssBytes();
uint64_t PeakRssBytes();

/// Returns the memory in bytes that this process has resident once the code that it runs is: what
/// is not of a file as it is now, and of the mapped files (program and libraries) three quarters,
/// or all that is resident now. A fault brings in the pages around it, as far as the addresses'
/// alignment allows, so that starts of sti-run differ by a megabyte in what they hold of its 6.4 MB
/// of files; after its first answer it holds 0.71 to 0.79 of them. CurrentRssBytes() where the
/// kernel does not tell.
uint64_t SettledRssBytes();

/// Gives memory that was freed, and that the C library keeps for its next allocations, back to the
/// system; for when much was freed that will not be needed again. Does nothing where the library
/// cannot. Takes milliseconds. Thread-safe.
void GiveBackFreeMemory();

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
