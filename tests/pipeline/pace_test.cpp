#include "pipeline/lane/pace.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sti {
namespace {

PlanTimes Times() {
  PlanTimes times;
  times.layer_us = 10'000;
  times.layer_p99_us = 10'000;
  times.head_us = 1'000;
  return times;
}

// Ten layers of ten slices, 10 ms each, and a head of 1 ms.
Pace TenLayers(double deadline_us) {
  Pace pace(Times(), 10, 10);
  pace.Begin(deadline_us);
  return pace;
}

TEST(Pace, TheLatestStartLeavesTimeForAllThatFollows) {
  const Pace pace = TenLayers(200'000);
  EXPECT_GT(pace.LatestStartUs(0), 98'500);
  EXPECT_LT(pace.LatestStartUs(0), 99'000) << "some of it is kept as a margin";
  for (uint32_t k = 0; k < 10; ++k)
    EXPECT_NEAR(pace.LatestStartUs(k + 1) - pace.LatestStartUs(k), 10'000, 1);
  EXPECT_LT(pace.LatestStartUs(10), 199'000) << "the head";
}

TEST(Pace, AllSlicesUntilTheLatestStartThenFewerButOneAlways) {
  const Pace pace = TenLayers(200'000);
  EXPECT_EQ(pace.SlicesFor(0, pace.LatestStartUs(0) + 150), 10U) << "who woke a little late";
  EXPECT_LT(pace.SlicesFor(0, pace.LatestStartUs(0) + 2'000), 10U);
  uint32_t before = 10;
  for (double now_us = 90'000; now_us < 250'000; now_us += 1'000) {
    const uint32_t slices = pace.SlicesFor(0, now_us);
    EXPECT_LE(slices, before);
    EXPECT_GE(slices, 1U);
    before = slices;
  }
  EXPECT_EQ(before, 1U);
}

TEST(Pace, SlowLayersAreExpectedToStaySlowAndRecoverInTime) {
  Pace pace = TenLayers(200'000);
  const double quiet_us = pace.LatestStartUs(0);
  for (int layer = 0; layer < 10; ++layer) pace.Observe(0, 10, 20'000);
  EXPECT_GT(pace.slowdown(), 1.9);
  EXPECT_LE(pace.slowdown(), 2.0);
  EXPECT_LT(pace.LatestStartUs(0), quiet_us - 80'000);
  EXPECT_LT(pace.SlicesFor(0, 20'000), 10U);
  for (int layer = 0; layer < 100; ++layer) pace.Observe(0, 10, 10'000);
  EXPECT_LT(pace.slowdown(), 1.01);
}

TEST(Pace, FewerSlicesThatTakeTheirShareAreNotSlow) {
  Pace pace = TenLayers(200'000);
  for (int layer = 0; layer < 10; ++layer) pace.Observe(0, 5, 5'500);
  EXPECT_DOUBLE_EQ(pace.slowdown(), 1.0);
  for (int layer = 0; layer < 10; ++layer) pace.Observe(0, 10, 5'000);
  EXPECT_DOUBLE_EQ(pace.slowdown(), 1.0) << "fast is no reason to plan on";
}

TEST(Pace, TheLastLayerHasItsOwnTime) {
  PlanTimes times = Times();
  times.last_layer_us = 3'000;
  times.last_layer_p99_us = 3'000;
  Pace pace(times, 10, 10);
  pace.Begin(200'000);
  EXPECT_NEAR(pace.LatestStartUs(10) - pace.LatestStartUs(9), 3'000, 1);
  EXPECT_NEAR(pace.LatestStartUs(9) - pace.LatestStartUs(0), 90'000, 1);
  for (int run = 0; run < 10; ++run) pace.Observe(9, 10, 3'000);
  EXPECT_DOUBLE_EQ(pace.slowdown(), 1.0);
  for (int run = 0; run < 60; ++run) pace.Observe(9, 10, 6'000);
  EXPECT_NEAR(pace.slowdown(), 2.0, 0.01);
  const Pace only(times, 1, 10);
  EXPECT_NEAR(only.LatestStartUs(1) - only.LatestStartUs(0), 3'000, 1);
}

TEST(Pace, ADelayInAShortLastLayerIsNoReasonToDegrade) {
  PlanTimes times = Times();
  times.last_layer_us = times.last_layer_p99_us = 2'000;
  Pace pace(times, 10, 10);
  pace.Begin(200'000);
  pace.Observe(9, 10, 18'000);
  EXPECT_LT(pace.slowdown(), 1.7);
  EXPECT_EQ(pace.SlicesFor(0, 20'000), 10U);
}

TEST(Pace, TwoSlowLayersAreBelievedInPart) {
  Pace pace = TenLayers(200'000);
  pace.Observe(0, 10, 20'000);
  EXPECT_DOUBLE_EQ(pace.slowdown(), 1.0) << "one may be chance";
  pace.Observe(1, 10, 20'000);
  EXPECT_GT(pace.slowdown(), 1.2);
  EXPECT_LT(pace.slowdown(), 1.6);
}

TEST(Pace, TimesThatCannotBeStayWithinBounds) {
  PlanTimes times = Times();
  times.last_layer_us = 5e-324;
  Pace pace(times, 10, 10);
  pace.Begin(200'000);
  for (int run = 0; run < 100; ++run) {
    for (uint32_t k = 0; k < 10; ++k) pace.Observe(k, 10, 10'000);
  }
  EXPECT_GE(pace.slowdown(), 1.0);
  EXPECT_LE(pace.slowdown(), 100.0);
  EXPECT_TRUE(std::isfinite(pace.LatestStartUs(0)));
}

TEST(Pace, WhatLayersWillNotTakeIsMarginEnough) {
  PlanTimes times = Times();
  const Pace without = TenLayers(200'000);
  times.layer_us = 9'990;  // 0.1 ms of ten layers, less than the margin
  Pace pace(times, 10, 10);
  pace.Begin(200'000);
  EXPECT_NEAR(pace.LatestStartUs(0), without.LatestStartUs(0) + 100, 1);
  EXPECT_NEAR(pace.LatestStartUs(9), without.LatestStartUs(9) + 10, 1);
  EXPECT_NEAR(pace.LatestStartUs(10), without.LatestStartUs(10), 1) << "the head";
  const double margin_us = 199'000 - without.LatestStartUs(10);
  times.layer_us = 8'000;  // more than the margin
  pace = Pace(times, 10, 10);
  pace.Begin(200'000);
  EXPECT_NEAR(pace.LatestStartUs(0), 200'000 - 100'000 - 1'000, 1);
  EXPECT_EQ(pace.SlicesFor(0, pace.LatestStartUs(0)), 10U);
  // Layers that are slow take it.
  for (int layer = 0; layer < 40; ++layer) pace.Observe(0, 10, 11'000);
  EXPECT_NEAR(pace.LatestStartUs(0), 200'000 - margin_us - 110'000 - 1'000 * pace.slowdown(), 200);
}

TEST(Pace, NothingMakesUpForASlowLastLayer) {
  PlanTimes times = Times();
  times.layer_us = 8'000;
  Pace pace(times, 10, 10);
  pace.Begin(200'000);
  const double at_its_median_us = 200'000 - 8'000 - 1'000;
  EXPECT_LT(pace.SlicesFor(9, at_its_median_us), 10U);
  EXPECT_EQ(pace.SlicesFor(8, at_its_median_us - 8'000), 10U) << "the last one does";
}

TEST(Pace, ASecondLateRunWidensTheMarginForAWhile) {
  Pace pace = TenLayers(200'000);
  const double before_us = pace.LatestStartUs(0);
  pace.Ended(8'000);
  EXPECT_EQ(pace.LatestStartUs(0), before_us) << "one may be chance";
  pace.Ended(3'000);
  EXPECT_NEAR(pace.LatestStartUs(0), before_us - 3'000, 1) << "as far as both were late";
  for (int run = 0; run < 500; ++run) pace.Ended(-20'000);
  EXPECT_NEAR(pace.LatestStartUs(0), before_us, 50);
  pace.Ended(8'000);
  EXPECT_NEAR(pace.LatestStartUs(0), before_us, 50) << "the others are long past";
  for (int run = 0; run < 50; ++run) pace.Ended(15'000);
  EXPECT_NEAR(pace.LatestStartUs(0), before_us - 20'000, 1) << "a tenth of the time at most";
}

}  // namespace
}  // namespace sti
