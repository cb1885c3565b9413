// core-watch: watches a core while something else is measured on it.
//
//   core-watch [-o FILE] PERIOD_US
//
// A thread of the highest real-time priority, on the cores of whoever starts it, wakes every
// PERIOD_US microseconds and does a fixed piece of work. On SIGTERM one line for each time goes to
// FILE, or to stdout: when it was to wake, in seconds of the monotonic clock, how late it woke, and
// how long the work took, both in microseconds. A machine that gives the core to nobody for a while
// wakes it late; where another hardware thread shares the core, the work takes longer. The work is
// one look-up in a table for each of 16 KiB, bound like a layer by how much the core does at once,
// and is done once untimed before, as caches are cold from what is measured. Exits 77 where no such
// priority is allowed.
#include <sched.h>
#include <signal.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

namespace {

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr int64_t kLeastPeriodUs = 100;
constexpr int64_t kMostPeriodUs = 1'000'000;
constexpr size_t kMostTimes = size_t{1} << 20;  // 24 MiB; then the watch ends by itself
constexpr int kSkipped = 77;

volatile sig_atomic_t stopped = 0;

struct Time {
  int64_t due_ns;
  int64_t late_ns;
  int64_t work_ns;
};

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNanosecondsPerSecond + now.tv_nsec;
}

/// Sleeps until a time of the monotonic clock, or until a signal comes.
void SleepUntil(int64_t due_ns) {
  const timespec due{.tv_sec = due_ns / kNanosecondsPerSecond,
                     .tv_nsec = due_ns % kNanosecondsPerSecond};
  while (stopped == 0 && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, nullptr) == EINTR) {
  }
}

/// A fixed piece of work, of some five microseconds.
class Work {
 public:
  Work() {
    for (size_t i = 0; i < text_.size(); ++i) text_[i] = static_cast<uint8_t>(i * 37);
    for (size_t i = 0; i < table_.size(); ++i) table_[i] = static_cast<uint8_t>(255 - i);
  }
  void Do() {
    for (uint8_t& byte : text_) byte = table_[byte];
  }
  [[nodiscard]] uint8_t result() const { return text_[0]; }

 private:
  std::array<uint8_t, 16384> text_{};
  std::array<uint8_t, 256> table_{};
};

std::vector<Time> Watch(int64_t period_ns) {
  std::vector<Time> times;
  times.reserve(kMostTimes);
  Work work;
  int64_t due_ns = NowNs() + period_ns;
  while (stopped == 0 && times.size() < kMostTimes) {
    SleepUntil(due_ns);
    const int64_t woken_ns = NowNs();
    work.Do();
    const int64_t begin_ns = NowNs();
    work.Do();
    const int64_t end_ns = NowNs();
    times.push_back({due_ns, woken_ns - due_ns, end_ns - begin_ns});
    // Periods that were slept through are one late time, not many.
    due_ns += ((end_ns - due_ns) / period_ns + 1) * period_ns;
  }
  // An interrupted sleep is none of the times; the result has to be used, or no work is done.
  if (!times.empty() && stopped != 0) times.pop_back();
  volatile const uint8_t used = work.result();
  static_cast<void>(used);
  return times;
}

bool Write(const std::vector<Time>& times, const char* path) {
  std::FILE* file = path == nullptr ? stdout : std::fopen(path, "w");
  if (file == nullptr) return false;
  for (const Time& time : times) {
    std::fprintf(file, "%" PRId64 ".%09" PRId64 " %.1f %.2f\n", time.due_ns / kNanosecondsPerSecond,
                 time.due_ns % kNanosecondsPerSecond, static_cast<double>(time.late_ns) * 1e-3,
                 static_cast<double>(time.work_ns) * 1e-3);
  }
  const bool is_written = std::ferror(file) == 0;
  return (file == stdout ? std::fflush(file) : std::fclose(file)) == 0 && is_written;
}

}  // namespace

int main(int argc, char** argv) {
  const char* path = nullptr;
  if (argc == 4 && std::strcmp(argv[1], "-o") == 0) path = argv[2];
  char* end = nullptr;
  const int64_t period_us = argc > 1 ? std::strtoll(argv[argc - 1], &end, 10) : 0;
  if ((argc != 2 && path == nullptr) || *end != '\0' || period_us < kLeastPeriodUs ||
      period_us > kMostPeriodUs) {
    std::fputs("usage: core-watch [-o FILE] PERIOD_US   (100 to 1000000)\n", stderr);
    return 2;
  }
  struct sigaction stop {};
  stop.sa_handler = [](int) { stopped = 1; };
  for (int number : {SIGTERM, SIGINT}) sigaction(number, &stop, nullptr);
  const sched_param first{.sched_priority = sched_get_priority_max(SCHED_FIFO)};
  if (sched_setscheduler(0, SCHED_FIFO, &first) != 0) {
    std::fputs("core-watch: SKIP: real-time priority is not allowed here\n", stderr);
    return kSkipped;
  }
  if (Write(Watch(period_us * 1000), path)) return 0;
  std::fprintf(stderr, "core-watch: %s: cannot write\n", path == nullptr ? "stdout" : path);
  return 1;
}
