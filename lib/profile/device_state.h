// Reads clock and temperature of the cores that are measured, as Linux tells them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/log.h"
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

}  // namespace sti
