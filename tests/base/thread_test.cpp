#include "base/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/thread_pool.h"

namespace sti {
namespace {

bool IsHeldBack(int number) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, number) == 1;
}

TEST(QuietThread, TakesNoSignalOfTheProcess) {
  bool hangup = false;
  bool fault = true;
  StartQuietThread([&] {
    hangup = IsHeldBack(SIGHUP) && IsHeldBack(SIGTERM) && IsHeldBack(SIGUSR1);
    fault = IsHeldBack(SIGSEGV);
  }).join();
  EXPECT_TRUE(hangup);
  EXPECT_FALSE(fault);
  EXPECT_FALSE(IsHeldBack(SIGHUP)) << "whoever starts it goes on as before";
}

TEST(QuietThread, WorkersOfAPoolAreSo) {
  ThreadPool pool(3);
  std::vector<char> held(pool.threads(), 2);
  // Each worker waits for the others, so that each takes one task.
  std::atomic<uint32_t> there = 0;
  pool.ParallelFor(pool.threads(), [&](uint32_t, uint32_t worker) {
    held[worker] = IsHeldBack(SIGHUP) ? 1 : 0;
    for (++there; there < pool.threads();) std::this_thread::yield();
  });
  EXPECT_EQ(held, (std::vector<char>{0, 1, 1})) << "the first is the caller's own";
}

}  // namespace

}  // namespace sti
