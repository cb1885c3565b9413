#include "base/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace sti {
namespace {

struct Counter {
  Mutex mutex;
  CondVar changed;
  int value STI_GUARDED_BY(mutex) = 0;
};

TEST(Mutex, OneThreadAtATimeIsInside) {
  Counter counter;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 10000; ++n) {
        MutexLock lock(counter.mutex);
        ++counter.value;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  MutexLock lock(counter.mutex);
  EXPECT_EQ(counter.value, 40000);
}

TEST(Mutex, AWaitGivesTheMutexBackUntilSomebodyNotifies) {
  Counter counter;
  std::thread other([&] {
    MutexLock lock(counter.mutex);
    counter.value = 1;
    counter.changed.NotifyAll();
    while (counter.value != 2) counter.changed.Wait(counter.mutex);
  });
  {
    MutexLock lock(counter.mutex);
    while (counter.value != 1) counter.changed.Wait(counter.mutex);
    counter.value = 2;
  }
  counter.changed.NotifyAll();
  other.join();
}

TEST(Mutex, AWaitEndsAtItsLatestMoment) {
  Counter counter;
  MutexLock lock(counter.mutex);
  const auto latest = Clock::now() + std::chrono::milliseconds(20);
  while (counter.changed.WaitUntil(counter.mutex, latest)) {
  }
  EXPECT_GE(Clock::now(), latest);
}

}  // namespace
}  // namespace sti
