#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sti {

/// "Intel(R) Xeon(R) Processor, 2 cores, Linux 6.1": for people who read a profile.
std::string MachineName();

/// Cores this process may run on, ascending.
std::vector<uint32_t> AffinityCores();

/// Returns the cores that this process may run on as "0-3,8".
std::string AffinityList();

}  // namespace sti
