#include "pipeline/drift.h"

#include <gtest/gtest.h>

namespace sti {
namespace {

TEST(DriftWatch, SaysNothingBeforeThereAreEnoughRuns) {
  DriftWatch watch;
  for (size_t run = 0; run + 1 < DriftWatch::kRuns; ++run) watch.Add(5, 5);
  EXPECT_FALSE(watch.Now().has_value());
  EXPECT_FALSE(watch.TakeWarning().has_value());
  watch.Add(5, 5);
  EXPECT_TRUE(watch.TakeWarning().has_value());
}

TEST(DriftWatch, WarnsOnceAndAgainAfterANewPlan) {
  DriftWatch watch;
  for (int plan = 0; plan < 2; ++plan) {
    for (size_t run = 0; run < DriftWatch::kRuns; ++run) watch.Add(1.5, 1);
    const auto drift = watch.TakeWarning();
    ASSERT_TRUE(drift.has_value());
    EXPECT_DOUBLE_EQ(drift->compute_ratio, 1.5);
    EXPECT_DOUBLE_EQ(drift->io_ratio, 1);
    watch.Add(1.5, 1);
    EXPECT_FALSE(watch.TakeWarning().has_value());
    watch.Forget();
  }
}

TEST(DriftWatch, ABadMomentIsNotDrift) {
  DriftWatch watch;
  for (size_t run = 0; run < DriftWatch::kRuns; ++run) watch.Add(run % 3 == 0 ? 10 : 1, 1);
  EXPECT_FALSE(watch.TakeWarning().has_value());
}

TEST(DriftWatch, FasterIsNoReasonToWarnAndZeroSaysNothing) {
  DriftWatch watch;
  for (size_t run = 0; run < 2 * DriftWatch::kRuns; ++run) watch.Add(0.5, 0);
  EXPECT_FALSE(watch.TakeWarning().has_value());
  ASSERT_TRUE(watch.Now().has_value());
  EXPECT_DOUBLE_EQ(watch.Now()->compute_ratio, 0.5);
  EXPECT_DOUBLE_EQ(watch.Now()->io_ratio, 1);
}

TEST(DriftWatch, ReadsAloneCanBeSlower) {
  DriftWatch watch;
  for (size_t run = 0; run < DriftWatch::kRuns; ++run) watch.Add(0, 1.5);
  const auto drift = watch.TakeWarning();
  ASSERT_TRUE(drift.has_value());
  EXPECT_DOUBLE_EQ(drift->compute_ratio, 1);
  EXPECT_DOUBLE_EQ(drift->io_ratio, 1.5);
}

TEST(DriftWatch, TheLastRunsDecide) {
  DriftWatch watch;
  for (size_t run = 0; run < 10 * DriftWatch::kRuns; ++run) watch.Add(1, 1);
  for (size_t run = 0; run < DriftWatch::kRuns; ++run) watch.Add(1, 2);
  const auto drift = watch.TakeWarning();
  ASSERT_TRUE(drift.has_value());
  EXPECT_DOUBLE_EQ(drift->io_ratio, 2);
}

}  // namespace
}  // namespace sti
