#include "base/usable_cpus.h"

#include <sched.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/control_group.h"

namespace sti {
namespace {

std::string FirstLine(const std::string& path) {
  const std::vector<std::string> lines = LinesOfFile(path);
  return lines.empty() ? "" : lines.front();
}

// CPUs that one group's files allow, rounded up; 0 for no limit.
uint32_t GroupQuota(const std::string& folder, bool unified) {
  std::vector<std::string> words;
  if (unified) {
    words = WordsOf(FirstLine(folder + "/cpu.max"));
  } else {
    words = {FirstLine(folder + "/cpu.cfs_quota_us"), FirstLine(folder + "/cpu.cfs_period_us")};
  }
  if (words.size() != 2) return 0;
  const std::optional<int64_t> quota_us = WholeNumber(words[0]);
  const std::optional<int64_t> period_us = WholeNumber(words[1]);
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) return 0;
  const int64_t cpus = (*quota_us - 1) / *period_us + 1;
  return static_cast<uint32_t>(std::min<int64_t>(cpus, UINT32_MAX));
}

uint32_t AffinityCpus() {
  // A machine may have more CPUs than the usual set has room for.
  for (size_t cpus = CPU_SETSIZE; cpus <= size_t{1} << 20; cpus *= 2) {
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    std::vector<cpu_set_t> set((bytes + sizeof(cpu_set_t) - 1) / sizeof(cpu_set_t));
    if (sched_getaffinity(0, bytes, set.data()) == 0) {
      return static_cast<uint32_t>(std::max(CPU_COUNT_S(bytes, set.data()), 1));
    }
  }
  return 1;
}

}  // namespace

uint32_t QuotaCpus(const std::string& root) {
  uint32_t least = 0;
  for (const ControlGroup& group : ControlGroupsOf("cpu", root)) {
    std::string below = group.below;
    while (true) {
      const uint32_t quota = GroupQuota(group.mount + below, group.unified);
      if (quota != 0) least = least == 0 ? quota : std::min(least, quota);
      if (below.empty()) break;
      below.resize(below.rfind('/'));
    }
  }
  return least;
}

uint32_t UsableCpus() {
  const uint32_t allowed = AffinityCpus();
  if (allowed == 1) return 1;
  static const uint32_t quota = QuotaCpus();
  return quota == 0 ? allowed : std::min(allowed, quota);
}

}  // namespace sti
