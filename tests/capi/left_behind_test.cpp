// The state that a change leaves behind which is refused or cancelled: the plan before it, with its
// guarantee, whatever the flash does meanwhile and afterwards.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "callback_storage.h"
#include "sti_fixture.h"
#include "support/plans.h"

namespace sti {
namespace {

class LeftBehind : public StorageTest {
 protected:
  void SetUp() override {
    extra_tokens_ = 200;
    StorageTest::SetUp();
    size_t size = 0;
    std::vector<uint8_t> profile(1 << 16);
    ASSERT_TRUE(Is(STI_OK,
                   sti_profile(model_, 50'000, profile.data(), profile.size(), &size, &error_),
                   error_));
  }
  void TearDown() override {
    storage_.lies = 0;
    StorageTest::TearDown();
  }

  void Set(int32_t option, int64_t value) {
    ASSERT_TRUE(Is(STI_OK, sti_set(model_, option, value, &error_), error_));
  }

  // Goes on under a plan with a guarantee, and notes its answers with reads and without.
  void Guarantee(bool bounded) {
    if (bounded) Set(STI_MEMORY_BYTES, 1 << 26);
    Set(STI_GUARANTEE, 1);
    Set(STI_TARGET_US, 1'000'000);
    Set(STI_PRELOAD_BYTES, 1 << 20);
    Set(STI_LATE, STI_LATE_DEGRADE);
    ASSERT_TRUE(Is(STI_OK, sti_plan(model_, &error_), error_));
    RunInFull();
    full_ = ScoresOf(model_);
    held_ = sti_stat(model_, STI_OWN_BYTES);
    ASSERT_TRUE(FallsBack());
    fallback_ = ScoresOf(model_);
  }

  // Runs until an answer is the plan's own: reads that hung, or that the run before did not wait
  // for, come back when the machine has time for it, and until then a run does without.
  void RunInFull() {
    for (int run = 0; run < 1000; ++run) {
      ASSERT_TRUE(Is(STI_OK, Run(kText), error_));
      if (sti_stat(model_, STI_FELL_BACK) == 0 && sti_stat(model_, STI_DEGRADED_SHARDS) == 0)
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << "no run is answered by the plan";
  }

  // Returns whether a word whose row was never read is answered by the fallback while all reads
  // hang. They go on afterwards. On a busy machine the fallback may run narrower: it is asked
  // again.
  bool FallsBack() {
    for (int run = 0; run < 20; ++run) {
      const uint32_t ids[] = {2, unseen_++, 3};
      sti_code code = STI_OK;
      const bool in_time = EndsWhileReadsHang(
          storage_, [&] { code = sti_run_ids(model_, ids, std::size(ids), &error_); });
      EXPECT_TRUE(Is(STI_OK, code, error_));
      if (!in_time || sti_stat(model_, STI_ROWS_MISSING) != 1) return false;
      if (sti_stat(model_, STI_DEGRADED_SHARDS) == 0) return true;
    }
    return false;
  }

  void ExpectAsBefore() {
    EXPECT_TRUE(FallsBack());
    EXPECT_EQ(ScoresOf(model_), fallback_);
    RunInFull();
    EXPECT_EQ(ScoresOf(model_), full_);
    RunInFull();
    EXPECT_EQ(sti_stat(model_, STI_OWN_BYTES), held_);
  }

  // The whole model at 6 bits, half of it preloaded, with a target as late inputs need it.
  [[nodiscard]] std::string OtherPlan() const {
    const auto file = ContainerFile::Open(path_);
    Plan plan = *MakeWholePlan(file->index(), WholeAt(6));
    plan.target_us = 5e6;
    plan = Timed(std::move(plan), 1000, 1000);
    for (uint32_t k = 1; k < plan.layers.size(); ++k) {
      for (uint32_t i = 0; i < plan.width; ++i)
        plan.preload.push_back({plan.Id(k, i), plan.bits.At(k, i)});
    }
    return PlanToJson(plan);
  }

  static constexpr std::string_view kText = "the movie";
  std::vector<double> full_;
  std::vector<double> fallback_;
  double held_ = 0;
  uint32_t unseen_ = static_cast<uint32_t>(TinyVocabulary().size());  // of the extra tokens
};

TEST_F(LeftBehind, AGuaranteeLastsThroughAPlanWhoseReadsFail) {
  for (const bool bounded : {false, true}) {
    Guarantee(bounded);
    for (int time = 0; time < 2; ++time) {
      storage_.lies = 1;
      EXPECT_TRUE(Is(STI_READ_FAILED, Give(STI_PLAN, OtherPlan()), error_));
      storage_.lies = 0;
      ExpectAsBefore();
    }
    // The other one is no worse for having been refused.
    ASSERT_TRUE(Is(STI_OK, Give(STI_PLAN, OtherPlan()), error_));
    RunInFull();
    EXPECT_EQ(ScoresOf(model_), Expected(kText, 6));
  }
}

TEST_F(LeftBehind, AGuaranteeLastsThroughAPlanThatIsCancelledWhileItsReadsHang) {
  for (const bool bounded : {false, true}) {
    Guarantee(bounded);
    EXPECT_EQ(Cancelled([&] { return Give(STI_PLAN, OtherPlan()); }), STI_CANCELLED);
    ExpectAsBefore();
    EXPECT_EQ(Cancelled([&] { return Give(STI_PLAN, OtherPlan()); }), STI_CANCELLED);
    ExpectAsBefore();
  }
}

TEST_F(LeftBehind, AGuaranteeLastsThroughPlansThatAreRefusedUnread) {
  Guarantee(false);
  EXPECT_TRUE(Is(STI_DAMAGED, Give(STI_PLAN, "{}"), error_));
  EXPECT_TRUE(Is(STI_USAGE, Give(STI_PLAN, PlanAt(4)), error_)) << "it has no target";
  Set(STI_TARGET_US, 1);
  EXPECT_TRUE(Is(STI_INFEASIBLE, sti_plan(model_, &error_), error_));
  ExpectAsBefore();
}

// Rows of words that the plan in force preloads are in memory after another one was refused, and no
// text reads them.
TEST_F(LeftBehind, RowsOfWordsLastThroughAPlanWhoseReadsFail) {
  const auto with_words = [&](const std::string& json, const std::string& words) {
    std::string plan = json;
    return plan.insert(plan.find("\"variants\""), "\"words\":" + words + ",");
  };
  const std::string plan = with_words(PlanAt(4), "[2,3,5,7,9]");
  const uint32_t ids[] = {2, 5, 7, 9, 3};
  ASSERT_TRUE(Is(STI_OK, Give(STI_PLAN, plan), error_));
  ASSERT_TRUE(Is(STI_OK, sti_run_ids(model_, ids, std::size(ids), &error_), error_));
  const double read = sti_stat(model_, STI_READ_BYTES);
  const double own = sti_stat(model_, STI_OWN_BYTES);
  ASSERT_TRUE(Is(STI_OK, sti_trim(model_, 0, &error_), error_));  // and all rows of the text
  ASSERT_TRUE(Is(STI_OK, Give(STI_PLAN, plan), error_));
  storage_.lies = 1;
  EXPECT_TRUE(Is(STI_READ_FAILED, Give(STI_PLAN, with_words(OtherPlan(), "[3,4,6]")), error_));
  storage_.lies = 0;
  ASSERT_TRUE(Is(STI_OK, sti_run_ids(model_, ids, std::size(ids), &error_), error_));
  EXPECT_EQ(sti_stat(model_, STI_READ_BYTES), read);
  EXPECT_EQ(sti_stat(model_, STI_OWN_BYTES), own);
}

// Reads that sti_wake has begun fail, and the flash recovers: the run reads anew.
TEST_F(LeftBehind, AWakeWhoseReadsFailedIsNoRuns) {
  ASSERT_TRUE(Is(STI_OK, Give(STI_PLAN, OtherPlan()), error_));
  ASSERT_TRUE(Is(STI_OK, Run(kText), error_));
  storage_.door.Close();
  ASSERT_TRUE(Is(STI_OK, sti_wake(model_, &error_), error_));
  storage_.door.AwaitHanging();
  storage_.lies = 1;
  storage_.door.Open();
  while (storage_.failed == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // so that the lane knows
  storage_.lies = 0;
  EXPECT_TRUE(Is(STI_OK, Run(kText), error_));
}

// A wake is of use where reads come. Where they hang, nobody waits for it under a guarantee.
TEST_F(LeftBehind, AWakeWaitsForNoReadThatHangs) {
  Guarantee(false);
  std::vector<sti_code> codes;
  EXPECT_TRUE(EndsWhileReadsHang(storage_, [&] {
    for (int wake = 0; wake < 2; ++wake) {
      const uint32_t ids[] = {2, unseen_++, 3};
      codes.push_back(sti_run_ids(model_, ids, std::size(ids), &error_));
      codes.push_back(sti_wake(model_, &error_));
    }
  }));
  EXPECT_EQ(codes, std::vector<sti_code>(4, STI_OK));
  ExpectAsBefore();
}

// A plan that is given after a trim is loaded at once, as without one.
TEST_F(LeftBehind, ATrimEndsWithTheNextPlan) {
  ASSERT_TRUE(Is(STI_OK, Give(STI_PLAN, OtherPlan()), error_));
  const double preloaded = sti_stat(model_, STI_PRELOADED_BYTES);
  ASSERT_GT(preloaded, 0);
  const auto others = static_cast<uint64_t>(sti_stat(model_, STI_OWN_BYTES) - preloaded);
  ASSERT_TRUE(Is(STI_OK, sti_trim(model_, others, &error_), error_));
  EXPECT_EQ(sti_stat(model_, STI_PRELOADED_BYTES), 0);
  ASSERT_TRUE(Is(STI_OK, Give(STI_PLAN, OtherPlan()), error_));
  EXPECT_EQ(sti_stat(model_, STI_PRELOADED_BYTES), preloaded);
}

// A guarantee lasts through a trim that leaves its fallback; one that does not closes the model.
TEST_F(LeftBehind, ATrimIsKeptToWhateverAGuaranteeHolds) {
  Guarantee(false);
  int lasted = 0;
  for (const double share : {0.9, 0.5, 0.1}) {
    const double preloaded = sti_stat(model_, STI_PRELOADED_BYTES);
    const auto most = static_cast<uint64_t>(held_ - preloaded * (1 - share));
    ASSERT_TRUE(Is(STI_OK, sti_trim(model_, most, &error_), error_));
    EXPECT_LE(sti_stat(model_, STI_OWN_BYTES), most);
    if (sti_stat(model_, STI_OWN_BYTES) == 0)
      RunInFull();
    else
      ++lasted;
    ExpectAsBefore();
  }
  EXPECT_GT(lasted, 0);
}

}  // namespace
}  // namespace sti
