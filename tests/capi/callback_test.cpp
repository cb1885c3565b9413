// Models whose bytes a callback of the app reads: well, wrongly, slowly, or calling the library.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "sti_fixture.h"
#include "support/hanging_reader.h"

namespace sti {
namespace {

/// A callback's storage, and what it does wrong.
struct Storage {
  const std::vector<uint8_t>& bytes;
  Door door = {};
  std::atomic<int> lies{0};     // 1: fails, 2: says that it read more than it was asked for
  sti_model* model = nullptr;   // where set, reads call the library
  std::atomic<int> refused{0};  // of those calls

  static int64_t ReadAt(void* user, uint64_t offset, void* buffer, uint64_t bytes) {
    auto& self = *static_cast<Storage*>(user);
    self.door.Pass();
    if (self.lies == 1) return -1;
    if (self.model != nullptr) {
      sti_error error;
      sti_close(self.model);  // does nothing
      if (sti_run(self.model, "a", 1, nullptr, 0, &error) == STI_USAGE &&
          sti_label(self.model, 0) == -1) {
        ++self.refused;
      }
    }
    const uint64_t count = std::min<uint64_t>(bytes, self.bytes.size() - offset);
    std::memcpy(buffer, self.bytes.data() + offset, count);
    return static_cast<int64_t>(self.lies == 2 ? bytes + 1 : count);
  }
};

class CallbackTest : public StiTest {
 protected:
  void SetUp() override {
    StiTest::SetUp();
    sti_close(model_);
    model_ = nullptr;
    ASSERT_TRUE(Is(
        STI_OK, sti_open_read(host_, Storage::ReadAt, &storage_, bytes_.size(), &model_, &error_),
        error_));
  }
  Storage storage_{bytes_};
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

TEST_F(CallbackTest, CloseWaitsForTheCallUnderWay) {
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
  storage_.door.Close();
  std::atomic<sti_code> code{-1};
  std::thread asking([&] { code = sti_run(model_, "a b", 3, nullptr, 0, nullptr); });
  storage_.door.AwaitHanging();
  std::atomic<bool> closed{false};
  std::thread closing([&] {
    sti_close(std::exchange(model_, nullptr));
    closed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(closed);
  storage_.door.Open();
  asking.join();
  closing.join();
  EXPECT_EQ(code, STI_OK);
}

}  // namespace
}  // namespace sti
