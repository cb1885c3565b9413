#include "common/machine.h"

#include <sched.h>
#include <sys/utsname.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace sti {
namespace {

// The value behind the first "key : value" line of /proc/cpuinfo that has one of the keys.
std::string CpuInfo() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) != 0 && line.rfind("Hardware", 0) != 0) continue;
    size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace

std::string MachineName() {
  utsname system{};
  uname(&system);
  std::string cpu = CpuInfo();
  if (cpu.empty()) cpu = system.machine;
  return cpu + ", " + system.sysname + " " + system.release;
}

std::string AffinityList() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return "";
  std::string list;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    int last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    if (!list.empty()) list += ',';
    list += std::to_string(cpu);
    if (last > cpu) list += "-" + std::to_string(last);
    cpu = last;
  }
  return list;
}

uint64_t CurrentFrequencyKhz() {
  int cpu = std::max(0, sched_getcpu());
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                     "/cpufreq/scaling_cur_freq");
  uint64_t frequency = 0;
  file >> frequency;
  return file ? frequency : 0;
}

}  // namespace sti
