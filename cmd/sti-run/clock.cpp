#include "clock.h"

#include <sched.h>

#include <algorithm>
#include <fstream>

namespace sti {

uint64_t ClockLimitKhz(const std::string& folder) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 0;
  uint64_t slowest = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    std::ifstream file(folder + "/cpu" + std::to_string(cpu) + "/cpufreq/scaling_max_freq");
    uint64_t khz = 0;
    if (!(file >> khz) || khz == 0) continue;
    slowest = slowest == 0 ? khz : std::min(slowest, khz);
  }
  return slowest;
}

}  // namespace sti
