#include "priority.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace sti {
namespace {

// ioprio_set has no wrapper in the C library. Its numbers are the kernel's.
constexpr int kThisThread[] = {1, 0};  // IOPRIO_WHO_PROCESS
constexpr int kRealTimeClass = 1 << 13;
constexpr int kBestEffortClass = 2 << 13;  // its level 0 is the highest

bool ReadWith(int io_priority) {
  return ::syscall(SYS_ioprio_set, kThisThread[0], kThisThread[1], io_priority) == 0;
}

}  // namespace

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

}  // namespace sti
