#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <numeric>
#include <string>
#include <vector>

#include "support/in_child.h"

namespace sti {
namespace {

TEST(ThreadPool, RunsEveryIndexOnce) {
  for (uint32_t threads : {0U, 1U, 2U, 3U, 7U}) {
    ThreadPool pool(threads);
    for (uint32_t count : {0U, 1U, 2U, 5U, 1000U}) {
      std::vector<std::atomic<int>> calls(count);
      pool.ParallelFor(count, [&](uint32_t i, uint32_t worker) {
        EXPECT_LT(worker, pool.threads());
        calls[i].fetch_add(1);
      });
      for (const auto& call : calls) EXPECT_EQ(call.load(), 1);
    }
  }
}

TEST(ThreadPool, RunsEveryIndexWhereTheSystemStartsNoThread) {
  const std::string sum = InChild([] {
    if (!ForbidSystemCalls({SYS_clone, SYS_clone3}, EAGAIN)) return std::string("no filter");
    ThreadPool pool(3);
    uint64_t total = 0;
    pool.ParallelFor(100, [&](uint32_t i, uint32_t) { total += i; });
    return std::to_string(total);
  });
  if (sum == "no filter") GTEST_SKIP() << "no seccomp filters here";
  EXPECT_EQ(sum, "4950");
}

TEST(ThreadPool, ManyShortLoopsOfChangingSize) {
  ThreadPool pool(3);
  uint64_t total = 0;
  std::vector<uint64_t> sums(3);
  for (uint32_t round = 0; round < 20000; ++round) {
    const uint32_t count = round % 13;
    pool.ParallelFor(count, [&](uint32_t i, uint32_t worker) { sums[worker] += i + round; });
    for (uint32_t i = 0; i < count; ++i) total += i + round;
  }
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), uint64_t{0}), total);
}

TEST(ThreadPool, NoTwoCallsShareAWorker) {
  ThreadPool pool(4);
  std::vector<std::atomic<bool>> busy(4);
  for (int round = 0; round < 200; ++round) {
    pool.ParallelFor(50, [&](uint32_t, uint32_t worker) {
      EXPECT_FALSE(busy[worker].exchange(true));
      busy[worker].store(false);
    });
  }
}

TEST(ThreadPool, CallersTakeTurns) {
  ThreadPool pool(2);
  std::atomic<uint64_t> sum{0};
  std::vector<std::thread> callers;
  callers.reserve(3);
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        pool.ParallelFor(10, [&](uint32_t i, uint32_t) { sum.fetch_add(i); });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 3U * 500U * 45U);
}

TEST(ThreadPool, WakesAfterSleep) {
  ThreadPool pool(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<uint32_t> calls{0};
    pool.ParallelFor(100, [&](uint32_t, uint32_t) { calls.fetch_add(1); });
    EXPECT_EQ(calls.load(), 100U);
  }
}

double CpuTimeMs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// The time is that of the CPU, not of a clock on the wall: a busy machine does not make it more.
TEST(ThreadPool, IdleThreadsTakeNoCpuTime) {
  for (const uint32_t cpus : {1U, 4U}) {
    ThreadPool pool(4, cpus);
    pool.ParallelFor(100, [](uint32_t, uint32_t) {});
    const double before_ms = CpuTimeMs();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_LT(CpuTimeMs() - before_ms, 100);
  }
}

// Without spinning, too, no loop is lost and none waits for ever.
TEST(ThreadPool, MoreThreadsThanCpus) {
  ThreadPool pool(8, 1);
  std::atomic<uint64_t> sum{0};
  for (uint32_t round = 0; round < 2000; ++round) {
    pool.ParallelFor(round % 20, [&](uint32_t i, uint32_t) { sum.fetch_add(i + 1); });
  }
  uint64_t expected = 0;
  for (uint32_t round = 0; round < 2000; ++round) {
    const uint64_t count = round % 20;
    expected += count * (count + 1) / 2;
  }
  EXPECT_EQ(sum.load(), expected);
}

}  // namespace
}  // namespace sti
