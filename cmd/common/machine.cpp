#include "common/machine.h"

#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>

#include "kernels/backend.h"

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
  std::string name = cpu + ", " + system.sysname + " " + system.release;
  // Profiles hold printable ASCII, and a vendor may write what it likes.
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return name;
}

std::vector<uint32_t> AffinityCores() {
  std::vector<uint32_t> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  cores.reserve(static_cast<size_t>(CPU_COUNT(&set)));
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cores.push_back(cpu);
  }
  return cores;
}

Status KeepToCores(std::span<const uint32_t> cores) {
  const std::vector<uint32_t> allowed = AffinityCores();
  cpu_set_t set;
  CPU_ZERO(&set);
  for (uint32_t core : cores) {
    if (!std::binary_search(allowed.begin(), allowed.end(), core))
      return MachineError("this process may not run on core " + std::to_string(core));
    CPU_SET(core, &set);
  }
  if (sched_setaffinity(0, sizeof(set), &set) != 0)
    return MachineError("the system does not keep this process to these cores");
  return {};
}

Status TakeCpusOption(std::span<const uint32_t> cores) {
  if (cores.empty()) return {};
  const Status kept = KeepToCores(cores);
  return kept.ok() ? kept : UsageError("--cpus: " + kept.error().what);
}

Status TakeInstructionsOption(const std::string& name) {
  if (name.empty() || LimitInstructionSet(name)) return {};
  std::string sets;
  for (const std::string& set : InstructionSets()) sets += (sets.empty() ? "" : ", ") + set;
  return UsageError("--instructions: this machine has " + sets);
}

std::string AffinityList() {
  const std::vector<uint32_t> cores = AffinityCores();
  std::string list;
  for (size_t i = 0; i < cores.size(); ++i) {
    size_t last = i;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
    if (!list.empty()) list += ',';
    list += std::to_string(cores[i]);
    if (last > i) list += "-" + std::to_string(cores[last]);
    i = last;
  }
  return list;
}

}  // namespace sti
