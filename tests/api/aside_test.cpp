// Work done aside: what becomes of what it returns and throws, and of work that is left behind.
#include "api/aside.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <new>
#include <thread>
#include <utility>

#include "support/expect.h"
#include "support/hanging_reader.h"

namespace sti {
namespace {

class AsideTest : public ::testing::Test {
 protected:
  ~AsideTest() override { door_.Open(); }

  // Raises the interrupt once the work hangs before the closed door.
  Status Interrupted(std::function<Status()> work) {
    door_.Close();
    std::thread other([this] {
      door_.AwaitHanging();
      interrupt_.Raise();
    });
    Status status = aside_.Do(std::move(work));
    other.join();
    interrupt_.Clear();
    return status;
  }

  Interrupt interrupt_;
  Door door_;
  Aside aside_{interrupt_};
};

TEST_F(AsideTest, ReturnsAndThrowsWhatTheWorkDoes) {
  const auto caller = std::this_thread::get_id();
  std::thread::id worker;
  EXPECT_TRUE(Succeeded(aside_.Do([&]() -> Status {
    worker = std::this_thread::get_id();
    return {};
  })));
  EXPECT_NE(worker, caller);
  EXPECT_TRUE(
      FailedWith(aside_.Do([] { return Status(DataError("is torn")); }), ErrorKind::kDamaged));
  EXPECT_THROW((void)aside_.Do([]() -> Status { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_TRUE(Succeeded(aside_.Do([] { return Status(); }))) << "and forgets it";
}

TEST_F(AsideTest, WorkThatIsLeftBehindKnowsAndIsWaitedFor) {
  std::atomic<bool> knew{false};
  EXPECT_TRUE(FailedWith(Interrupted([&]() -> Status {
                           door_.Pass();
                           knew = aside_.left_behind();
                           throw std::bad_alloc();
                         }),
                         ErrorKind::kCancelled));
  EXPECT_FALSE(knew);
  door_.Open();
  EXPECT_TRUE(Succeeded(aside_.FinishLeftBehind()));
  EXPECT_TRUE(knew);
  EXPECT_TRUE(Succeeded(aside_.Do([&]() -> Status {
    knew = aside_.left_behind();
    return {};
  })));
  EXPECT_FALSE(knew);
}

TEST_F(AsideTest, TheNextWorkWaitsForItAndCanBeInterruptedMeanwhile) {
  std::atomic<int> done{0};
  const auto work = [&]() -> Status {
    door_.Pass();
    ++done;
    return {};
  };
  EXPECT_TRUE(FailedWith(Interrupted(work), ErrorKind::kCancelled));
  EXPECT_TRUE(FailedWith(Interrupted(work), ErrorKind::kCancelled));
  EXPECT_EQ(done, 0);
  door_.Open();
  EXPECT_TRUE(Succeeded(aside_.Do(work)));
  EXPECT_EQ(done, 2) << "the second was never begun";
}

// Work may wait under the interrupt that its caller waits under, as loading does for reads.
TEST_F(AsideTest, AnInterruptWakesTheWorkToo) {
  Mutex mutex;
  CondVar changed;
  std::atomic<bool> waits{false};
  std::thread other([&] {
    while (!waits) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    interrupt_.Raise();
  });
  const Status status = aside_.Do([&]() -> Status {
    const InterruptibleWait wait(&interrupt_, mutex, changed);
    MutexLock lock(mutex);
    waits = true;
    while (!wait.raised()) changed.Wait(mutex);
    return CancelledError();
  });
  other.join();
  EXPECT_TRUE(FailedWith(status, ErrorKind::kCancelled));
  while (!aside_.FinishLeftBehind().ok())
    std::this_thread::yield();  // until the work has seen it too
}

}  // namespace
}  // namespace sti
