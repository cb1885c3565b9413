#pragma once

#include <cstdint>
#include <string>

namespace sti {

/// "Intel(R) Xeon(R) Processor, 2 cores, Linux 6.1": for people who read a profile.
std::string MachineName();

/// Cores this process may run on, as "0-3,8".
std::string AffinityList();

/// Current frequency of the first of them; 0 where the system does not tell.
uint64_t CurrentFrequencyKhz();

}  // namespace sti
