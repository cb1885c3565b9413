#include "pipeline/drift.h"

#include <gtest/gtest.h>

namespace sti {
namespace {

// Adds so many runs whose layers take `ratio` times what the plan counts on.
void AddRuns(size_t runs, double ratio, DriftWatch* watch) {
  for (size_t run = 0; run < runs; ++run) watch->Add(ratio, 1);
}

TEST(DriftWatch, ASlowInputSaysNothingHoweverSlow) {
  for (const double ratio : {1.5, 5.0, 1e6}) {
    DriftWatch watch;
    for (int turn = 0; turn < 100; ++turn) {
      watch.Add(ratio, ratio);
      EXPECT_FALSE(watch.TakeWarning().has_value()) << ratio << " in turn " << turn;
      AddRuns(2, 1, &watch);
      EXPECT_FALSE(watch.TakeWarning().has_value()) << ratio << " in turn " << turn;
    }
  }
}

TEST(DriftWatch, AFewSlowRunsInARowAreDrift) {
  for (const size_t before : {size_t{0}, size_t{3}, 10 * DriftWatch::kRuns}) {
    DriftWatch watch;
    AddRuns(before, 1, &watch);
    AddRuns(DriftWatch::kLeastRuns - 1, 5, &watch);
    EXPECT_FALSE(watch.TakeWarning().has_value());
    watch.Add(7, 1);
    const auto drift = watch.Now();
    ASSERT_TRUE(drift.has_value());
    EXPECT_EQ(drift->compute_ratio, 5) << "of the runs since, not of all";
    EXPECT_TRUE(watch.TakeWarning().has_value());
  }
}

TEST(DriftWatch, TheUpperQuartileTellsHowMuchSlower) {
  DriftWatch watch;
  for (const double ratio : {1.5, 2.0, 2.1, 2.2, 9.0}) watch.Add(1, ratio);
  ASSERT_TRUE(watch.Now().has_value());
  EXPECT_EQ(watch.Now()->io_ratio, 2.2);
}

TEST(DriftWatch, CarefulIsWhatMostRunsKeep) {
  DriftWatch watch;
  for (size_t run = 0; run < DriftWatch::kRuns; ++run) watch.Add(run % 3 == 0 ? 1 : 0.4, 1);
  EXPECT_EQ(watch.Now()->compute_ratio, 0.4);
  EXPECT_EQ(watch.Careful()->compute_ratio, 1);
}

TEST(DriftWatch, TheLessTheyAreBeyondTheToleranceTheMoreRunsItTakes) {
  size_t before = DriftWatch::kLeastRuns - 1;
  for (const double ratio : {2.0, 1.35, 1.25}) {
    DriftWatch watch;
    AddRuns(DriftWatch::kRuns, 1, &watch);
    size_t runs = 0;
    while (!watch.TakeWarning().has_value()) {
      watch.Add(ratio, 1);
      ASSERT_LE(++runs, DriftWatch::kRuns);
    }
    EXPECT_GT(runs, before) << ratio;
    before = runs;
  }
}

TEST(DriftWatch, WithinTheToleranceThereIsNoDrift) {
  DriftWatch watch;
  AddRuns(1000, 1.19, &watch);
  EXPECT_FALSE(watch.TakeWarning().has_value());
  EXPECT_EQ(watch.Now()->compute_ratio, 1.19);
  EXPECT_EQ(watch.runs(), 1000U);
}

TEST(DriftWatch, ADeviceThatIsItselfAgainIsSeenAsSoon) {
  DriftWatch watch;
  AddRuns(8, 3, &watch);
  EXPECT_EQ(watch.Now()->compute_ratio, 3);
  AddRuns(DriftWatch::kLeastRuns + 4, 1, &watch);
  EXPECT_EQ(watch.Now()->compute_ratio, 1) << "by all runs, more of which are quick";
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

DriftWatch Watch(double compute_ratio, double io_ratio) {
  DriftWatch watch;
  for (size_t run = 0; run < DriftWatch::kRuns; ++run) watch.Add(compute_ratio, io_ratio);
  return watch;
}

TEST(DeviceDrift, APlanCountsOnWhatWasKnownAndRunsShowTheRest) {
  DeviceDrift drift;
  drift.PlanGiven(true);
  EXPECT_EQ(drift.FromProfile().compute_ratio, 1);
  drift.See(Watch(2, 3));
  EXPECT_EQ(drift.FromProfile().compute_ratio, 2);
  EXPECT_EQ(drift.FromProfile().io_ratio, 3);
  drift.PlanMade(drift.FromProfile());
  EXPECT_EQ(drift.beyond_plan().compute_ratio, 1);
  EXPECT_EQ(drift.FromProfile().compute_ratio, 2);
  drift.See(Watch(2, 0.5));
  EXPECT_EQ(drift.FromProfile().compute_ratio, 4);
  EXPECT_EQ(drift.FromProfile().io_ratio, 1.5);
  drift.See(DriftWatch());  // which cannot tell yet
  EXPECT_EQ(drift.FromProfile().compute_ratio, 4);
}

TEST(DeviceDrift, RunsSayNothingOfAProfileThatTheirPlanDoesNotCountOn) {
  DeviceDrift drift;
  drift.PlanGiven(false);
  drift.See(Watch(2, 2));
  EXPECT_EQ(drift.FromProfile().compute_ratio, 1);
  EXPECT_EQ(drift.beyond_plan().compute_ratio, 2);
  drift.PlanMade({1.5, 1});
  EXPECT_EQ(drift.FromProfile().compute_ratio, 1.5);
  drift.ProfileGiven();
  EXPECT_EQ(drift.FromProfile().compute_ratio, 1);
}

}  // namespace

}  // namespace sti
