// The clock of the cores, by which a plan of several clocks chooses its variant.
#pragma once

#include <cstdint>
#include <string>

namespace sti {

/// The highest clock in kHz that the system allows the cores of this process now, of the slowest of
/// them: a layer is done when its last core is. 0 where the system does not tell.
uint64_t ClockLimitKhz(const std::string& folder = "/sys/devices/system/cpu");

}  // namespace sti
