#include "api/device_drift.h"

#include <gtest/gtest.h>

namespace sti {
namespace {

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
