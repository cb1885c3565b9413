#include "host.h"

#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "common/machine.h"
#include "common/parse.h"

namespace sti {
namespace {

Clock::time_point g_main;
double g_before_main_us = 0;

// ioprio_set has no wrapper in the C library. Its numbers are the kernel's.
constexpr int kThisThread[] = {1, 0};  // IOPRIO_WHO_PROCESS
constexpr int kRealTimeClass = 1 << 13;
constexpr int kBestEffortClass = 2 << 13;  // its level 0 is the highest

bool ReadWith(int io_priority) {
  return ::syscall(SYS_ioprio_set, kThisThread[0], kThisThread[1], io_priority) == 0;
}

// A plan without a kernel does not say which machine it is for, as its profile was written by hand.
// It is tried on any machine, without a warning that this is another.
bool NamesItsMachine(const Plan& plan) { return !plan.kernel.name.empty(); }

void TakePlannedCores(const Plan& plan, const Tool& tool) {
  if (!plan.cpus || *plan.cpus == AffinityList()) return;
  const Result<std::vector<uint32_t>> cores = ParseList(*plan.cpus);
  if (cores.ok() && KeepToCores(*cores).ok()) return;
  if (NamesItsMachine(plan)) {
    tool.Warn("the plan counts on cores " + Clipped(*plan.cpus) + ", this process may run on " +
              Clipped(AffinityList()) + "; give --cpus, or run sti-profile here");
  }
}

// Models of one process run on the same cores: those of the plans, where they agree.
void TakeCoresOfAll(std::span<const Plan* const> plans, const Tool& tool) {
  const Plan* first = nullptr;
  for (const Plan* plan : plans) {
    if (!plan->cpus) continue;
    if (first == nullptr) first = plan;
    if (plan->cpus == first->cpus) continue;
    tool.Warn("one plan counts on cores " + Clipped(*first->cpus) + ", another on " +
              Clipped(*plan->cpus) + "; all models run on " + Clipped(AffinityList()) +
              ", give --cpus to choose");
    return;
  }
  if (first != nullptr) TakePlannedCores(*first, tool);
}

}  // namespace

void NoteMain() {
  g_main = Clock::now();
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  g_before_main_us =
      static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

double AgeUs() { return g_before_main_us + MicrosecondsBetween(g_main, Clock::now()); }

void GiveHeapBack() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

void TakePriority(const Tool& tool) {
  const sched_param lowest{::sched_get_priority_min(SCHED_RR)};
  if (::sched_setscheduler(0, SCHED_RR, &lowest) != 0) {
    const std::string why = std::strerror(errno);
    constexpr int kMostFavourable = -20;
    const bool nice = ::setpriority(PRIO_PROCESS, 0, kMostFavourable) == 0;
    tool.Warn("--priority: no real-time scheduling (" + why + ")" +
              (nice ? ", nice -20 instead" : "") + "; give CAP_SYS_NICE, or ulimit -r 2");
  }
  if (!ReadWith(kRealTimeClass) && !ReadWith(kBestEffortClass)) {
    tool.Warn("--priority: reads keep their priority (" + std::string(std::strerror(errno)) + ")");
  }
}

Result<uint32_t> TakeCores(const RunOptions& options, std::span<const Plan* const> plans,
                           const Tool& tool) {
  STI_RETURN_IF_ERROR(TakeCpusOption(options.cpus));
  if (options.cpus.empty()) TakeCoresOfAll(plans, tool);
  if (options.threads != 0) return options.threads;
  const uint32_t available = AvailableThreads();
  uint32_t threads = 0;
  for (const Plan* plan : plans) {
    const uint32_t wanted = plan->threads.value_or(available);
    if (wanted > available && options.cpus.empty() && NamesItsMachine(*plan)) {
      tool.Warn("the plan counts on " + Counted(wanted, "thread") + ", this process has " +
                Counted(available, "core") + "; run sti-profile here");
    }
    threads += std::min(wanted, available);
    threads = std::min(threads, available);
  }
  return threads;
}

uint64_t ClockLimitKhz() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 0;
  uint64_t slowest = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                       "/cpufreq/scaling_max_freq");
    uint64_t khz = 0;
    if (!(file >> khz) || khz == 0) continue;
    slowest = slowest == 0 ? khz : std::min(slowest, khz);
  }
  return slowest;
}

}  // namespace sti
