// The clock and the temperature of the cores that are measured, as Linux tells them. Where the
// system lets it (cpufreq), the clock is set for a measurement, and what was there is put back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "types/device_profile.h"

namespace sti {

/// The lowest and the highest current clock of some cores; both 0 where the system does not tell.
struct ClockRange {
  uint64_t min_khz = 0;
  uint64_t max_khz = 0;
};
/// Returns the range of the clocks of `cores`; `folder` has one folder a core, cpu0 and on.
ClockRange ClocksOf(std::span<const uint32_t> cores,
                    const std::string& folder = "/sys/devices/system/cpu");

/// Returns the degrees Celsius of the hottest thermal zone whose type says that it is a processor's
/// (cpu, soc, x86_pkg, package); 0 where there is none.
double HottestCelsius(const std::string& folder = "/sys/class/thermal");

/// Follows a measurement: made before it, Look called during it, Finish after it. One thread.
class StateWatch {
 public:
  explicit StateWatch(std::span<const uint32_t> cores,
                      std::string cpu_folder = "/sys/devices/system/cpu",
                      std::string thermal_folder = "/sys/class/thermal");
  /// Takes note of the fastest core's clock, since idle cores slow down.
  void Look();
  /// Returns the lowest and the highest clock that Look noted, and the first temperature and the
  /// last.
  ThermalState Finish();

 private:
  std::span<const uint32_t> cores_;
  std::string cpu_folder_;
  std::string thermal_folder_;
  ThermalState state_;
};

/// Says that what the profile has of computing was measured at this clock.
void SetClock(uint64_t khz, DeviceProfile* profile);

/// Returns a warning if a clock fell by more than 5 % or a temperature rose by more than 10
/// degrees.
std::optional<LogLine> StateWarning(const ThermalState& state);

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
    uint64_t least_khz = 0;  ///< slowest clock of the core
    uint64_t most_khz = 0;
    uint64_t found_min_khz = 0;
    uint64_t found_max_khz = 0;
  };
  ClockSetting() = default;
  static Status SetBounds(const Core& core, uint64_t min_khz, uint64_t max_khz);

  std::vector<Core> cores_;
  bool changed_ = false;
};

}  // namespace sti
