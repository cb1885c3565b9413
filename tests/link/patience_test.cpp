#include "link/patience.h"

#include <gtest/gtest.h>

namespace sti {
namespace {

constexpr double kFive_us = 5e6;

Clock::time_point At(double seconds) {
  return Clock::time_point() + std::chrono::hours(1) + Microseconds(seconds * 1e6);
}

TEST(PatienceOfStage, IsOverOnceNothingHasHappenedForSoLong) {
  Patience patience(kFive_us, At(0));
  EXPECT_FALSE(patience.over(At(4.9)));
  EXPECT_TRUE(patience.over(At(5)));
  EXPECT_EQ(patience.end(), At(5));
  patience.Rest(At(4));
  EXPECT_FALSE(patience.over(At(8.9)));
  EXPECT_TRUE(patience.over(At(9)));
}

TEST(WorkWatch, SeesAStageThatHasWorkAndDoesNone) {
  WorkWatch watch(kFive_us, At(0));
  for (int s = 0; s < 20; ++s) EXPECT_FALSE(watch.Stands(7, false, At(s))) << s;
  for (int s = 20; s < 25; ++s) EXPECT_FALSE(watch.Stands(7, true, At(s))) << s;
  EXPECT_TRUE(watch.Stands(7, true, At(25)));
}

TEST(WorkWatch, ForgivesAStageThatDoesALayerNowAndThen) {
  WorkWatch watch(kFive_us, At(0));
  for (int s = 0; s < 100; ++s) EXPECT_FALSE(watch.Stands(s / 4, true, At(s))) << s;
}

// The time before its reader had no room does not count against a stage.
TEST(WorkWatch, ForgetsWhatWasBeforeARest) {
  WorkWatch watch(kFive_us, At(0));
  EXPECT_FALSE(watch.Stands(7, true, At(0)));
  EXPECT_FALSE(watch.Stands(7, true, At(4)));
  watch.Rest(At(60));
  EXPECT_FALSE(watch.Stands(7, true, At(60)));
  EXPECT_FALSE(watch.Stands(7, true, At(64)));
  EXPECT_TRUE(watch.Stands(7, true, At(65)));
}

TEST(SendWatch, SeesThatNothingGoesWhereNobodyKnowsWhatIsTaken) {
  SendWatch watch(kFive_us, At(0));
  watch.Begin(std::nullopt, At(100));
  EXPECT_FALSE(watch.Stands(0, std::nullopt, At(104)));
  EXPECT_FALSE(watch.Stands(10, std::nullopt, At(104)));
  EXPECT_FALSE(watch.Stands(0, std::nullopt, At(108)));
  EXPECT_TRUE(watch.Stands(0, std::nullopt, At(109)));
}

// A pipe has room for a thousand heartbeats that nobody reads.
TEST(SendWatch, SeesThatAPipeIsNotReadThoughThereIsRoom) {
  SendWatch watch(kFive_us, At(0));
  for (int s = 0; s < 5; ++s) {
    watch.Begin(s * 76, At(s));
    EXPECT_FALSE(watch.Stands(76, (s + 1) * 76, At(s))) << s;
  }
  watch.Begin(5 * 76, At(5));
  EXPECT_TRUE(watch.Stands(76, 6 * 76, At(5)));
}

TEST(SendWatch, TakesAByteForASignOfLife) {
  SendWatch watch(kFive_us, At(0));
  EXPECT_FALSE(watch.Stands(65536, 65536, At(0)));
  for (int s = 1; s < 600; ++s) EXPECT_FALSE(watch.Stands(0, 65536 - s / 4, At(s))) << s;
  EXPECT_TRUE(watch.Stands(0, 65536 - 149, At(601.1)));
}

TEST(SendWatch, RestsWhileNothingIsUntaken) {
  SendWatch watch(kFive_us, At(0));
  EXPECT_FALSE(watch.Stands(76, 0, At(0)));
  EXPECT_FALSE(watch.Stands(76, 0, At(60)));
  EXPECT_FALSE(watch.Stands(76, 76, At(64)));
  EXPECT_TRUE(watch.Stands(0, 76, At(65)));
}

}  // namespace
}  // namespace sti
