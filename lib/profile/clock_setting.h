// Sets the clock of cores where the system lets it (Linux, cpufreq), and puts back what was there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace sti {

/// The bounds of some cores' clocks, which destroying it puts back as they were found. One thread.
class ClockSetting {
 public:
  /// Changes nothing. kInfeasible if a core has no bounds that can be written; `folder` has one
  /// folder a core, cpu0 and on.
  static Result<ClockSetting> Make(std::span<const uint32_t> cores,
                                   const std::string& folder = "/sys/devices/system/cpu");
  ~ClockSetting();
  ClockSetting(ClockSetting&& other) noexcept;
  ClockSetting(const ClockSetting&) = delete;
  ClockSetting& operator=(const ClockSetting&) = delete;

  /// Lets the cores run at this clock alone. kInfeasible if one does not go so slow or so fast, or
  /// if the system keeps other bounds; the next Set, or the end, corrects what has been changed.
  [[nodiscard]] Status Set(uint64_t khz);
  /// Puts back what was found. Destroying it does so too, but tells no errors.
  [[nodiscard]] Status Restore();

 private:
  struct Core {
    std::string folder;
    uint64_t least_khz = 0;  ///< that the core goes
    uint64_t most_khz = 0;
    uint64_t found_min_khz = 0;
    uint64_t found_max_khz = 0;
  };
  ClockSetting() = default;
  static Status Bound(const Core& core, uint64_t min_khz, uint64_t max_khz);

  std::vector<Core> cores_;
  bool changed_ = false;
};

}  // namespace sti
