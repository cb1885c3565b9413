// Models whose bytes a callback of the app reads: well, wrongly, slowly, or calling the library.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "callback_storage.h"
#include "sti_fixture.h"

namespace sti {
namespace {

class CallbackTest : public StorageTest {
 protected:
  // Closes the model while a read hangs: it waits until the read has come.
  void ExpectCloseWaits() {
    std::atomic<bool> closed{false};
    std::thread closing([&] {
      sti_close(std::exchange(model_, nullptr));
      closed = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(closed);
    storage_.door.Open();
    closing.join();
  }
};

TEST_F(CallbackTest, ReadsThroughIt) {
  ASSERT_TRUE(Is(STI_OK, Run("a b"), error_));
  EXPECT_EQ(ScoresOf(model_), Expected("a b"));
}

TEST_F(CallbackTest, OneThatFailsOrLiesIsAFailedRead) {
  for (const int lie : {1, 2}) {
    storage_.lies = lie;
    EXPECT_TRUE(Is(STI_READ_FAILED, Run("a b"), error_));
    storage_.lies = 0;
    ASSERT_TRUE(Is(STI_OK, Run("a b"), error_));
    EXPECT_EQ(ScoresOf(model_), Expected("a b"));
    ASSERT_TRUE(Is(STI_OK, sti_trim(model_, 0, &error_), error_));
  }
}

// Planned with a guarantee, a model answers though no read comes any more, words unknown to it.
TEST_F(CallbackTest, AGuaranteeAnswersThoughReadsFail) {
  size_t size = 0;
  std::vector<uint8_t> profile(1 << 16);
  ASSERT_TRUE(Is(
      STI_OK, sti_profile(model_, 50'000, profile.data(), profile.size(), &size, &error_), error_));
  const auto set = [&](int32_t option, int64_t value) {
    ASSERT_TRUE(Is(STI_OK, sti_set(model_, option, value, &error_), error_));
  };
  set(STI_GUARANTEE, 1);
  EXPECT_TRUE(Is(STI_USAGE, sti_plan(model_, &error_), error_));
  EXPECT_NE(std::string(error_.text).find("STI_TARGET_US"), std::string::npos) << error_.text;
  set(STI_TARGET_US, 2'000'000);
  EXPECT_TRUE(Is(STI_INFEASIBLE, sti_plan(model_, &error_), error_)) << "no room to fall back to";
  set(STI_PRELOAD_BYTES, 1 << 20);
  set(STI_TURNS, 2);
  EXPECT_TRUE(Is(STI_USAGE, sti_plan(model_, &error_), error_));
  EXPECT_NE(std::string(error_.text).find("STI_GUARANTEE"), std::string::npos) << error_.text;
  set(STI_TURNS, 0);
  ASSERT_TRUE(Is(STI_OK, sti_plan(model_, &error_), error_));
  set(STI_LATE, STI_LATE_DEGRADE);
  ASSERT_TRUE(Is(STI_OK, Run("the movie"), error_));
  EXPECT_EQ(sti_stat(model_, STI_FELL_BACK), 0);
  EXPECT_EQ(sti_stat(model_, STI_ROWS_MISSING), 0);
  storage_.lies = 1;
  ASSERT_TRUE(Is(STI_OK, Run("a good film is great"), error_));
  EXPECT_EQ(sti_stat(model_, STI_ROWS_MISSING), 0) << "rows of common words are in memory";
  ASSERT_TRUE(Is(STI_OK, Run("a good film is number 1"), error_));
  EXPECT_EQ(sti_stat(model_, STI_FELL_BACK), 1);
  EXPECT_GE(sti_stat(model_, STI_ROWS_MISSING), 1);
  EXPECT_EQ(sti_stat(model_, STI_IS_LATE), 0);
}

TEST_F(CallbackTest, OneThatCallsTheLibraryIsRefusedAndGoesOn) {
  storage_.model = model_;
  ASSERT_TRUE(Is(STI_OK, Run("a b"), error_));
  EXPECT_GT(storage_.refused, 0);
  EXPECT_EQ(ScoresOf(model_), Expected("a b"));
}

TEST_F(CallbackTest, CancelEndsARunWhoseReadHangs) {
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
  storage_.door.Close();
  sti_code code = STI_OK;
  std::thread asking([&] {
    sti_error error;
    code = sti_run(model_, "a b", 3, nullptr, 0, &error);
  });
  storage_.door.AwaitHanging();
  EXPECT_EQ(sti_cancel(model_), STI_OK);
  asking.join();
  EXPECT_EQ(code, STI_CANCELLED);
  storage_.door.Open();
  ASSERT_TRUE(Is(STI_OK, Run("a b"), error_));
  EXPECT_EQ(ScoresOf(model_), Expected("a b"));
}

// Cancels each call while reads hang, and lets them go afterwards. A call that comes behind one
// that was cancelled waits for the read of that one.
class HangingTest : public CallbackTest {
 protected:
  void ExpectAnswers() {
    storage_.door.Open();
    ASSERT_TRUE(Is(STI_OK, Run("a b"), error_));
    EXPECT_EQ(ScoresOf(model_), Expected("a b"));
  }
};

TEST_F(HangingTest, CancelEndsEveryCallThatLoadsTheModel) {
  const uint32_t ids[] = {1, 2, 3};
  const std::string plan = PlanAt(2);
  size_t size = 0;
  const std::function<sti_code()> calls[] = {
      [&] { return Run("a"); },
      [&] { return sti_run_ids(model_, ids, std::size(ids), &error_); },
      [&] { return sti_wake(model_, &error_); },
      [&] { return Give(STI_PLAN, plan); },
      [&] { return sti_profile(model_, 10'000, nullptr, 0, &size, &error_); },
  };
  for (const auto& call : calls) {
    EXPECT_EQ(Cancelled(call), STI_CANCELLED);
    EXPECT_EQ(Cancelled(call), STI_CANCELLED) << "it waits for the read of the one before";
    ExpectAnswers();
    ASSERT_TRUE(Is(STI_OK, sti_trim(model_, 0, &error_), error_));
  }
}

TEST_F(HangingTest, CancelEndsCallsThatCloseWhatReadsLandIn) {
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
  const std::function<sti_code()> calls[] = {
      [&] { return sti_trim(model_, 0, &error_); },
      [&] { return sti_set(model_, STI_MEMORY_BYTES, 1, &error_); },
      [&] {
        const sti_code code = sti_set(model_, STI_COMPUTE, STI_COMPUTE_FP32, &error_);
        return code == STI_OK ? Run("a") : code;
      },
  };
  for (const auto& call : calls) {
    ASSERT_EQ(Cancelled([&] { return Run("a"); }), STI_CANCELLED);
    EXPECT_EQ(Cancelled(call), STI_CANCELLED);
    ExpectAnswers();
  }
}

TEST_F(HangingTest, CancelEndsPlanning) {
  std::vector<char> profile(4096);
  size_t size = 0;
  ASSERT_TRUE(Is(
      STI_OK, sti_profile(model_, 10'000, profile.data(), profile.size(), &size, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_TARGET_US, 60'000'000, &error_), error_));
  // A model whose memory is bounded opens anew under a new plan.
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_MEMORY_BYTES, 1 << 28, &error_), error_));
  EXPECT_EQ(Cancelled([&] { return sti_plan(model_, &error_); }), STI_CANCELLED);
  ExpectAnswers();
  EXPECT_TRUE(Is(STI_OK, sti_plan(model_, &error_), error_));
}

TEST_F(HangingTest, CloseWaitsForAReadThatACancelledCallLeftBehind) {
  ASSERT_EQ(Cancelled([&] { return Run("a"); }), STI_CANCELLED);
  ExpectCloseWaits();
}

TEST_F(CallbackTest, CloseWaitsForTheCallUnderWay) {
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
  storage_.door.Close();
  std::atomic<sti_code> code{-1};
  std::thread asking([&] { code = sti_run(model_, "a b", 3, nullptr, 0, nullptr); });
  storage_.door.AwaitHanging();
  ExpectCloseWaits();
  asking.join();
  EXPECT_EQ(code, STI_OK);
}

}  // namespace
}  // namespace sti
