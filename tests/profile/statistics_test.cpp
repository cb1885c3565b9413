#include "profile/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "support/random.h"

namespace sti {
namespace {

// From tables of the sign test.
TEST(MedianInterval, RanksAreThoseOfTheSignTest) {
  EXPECT_EQ(IntervalRank(0), 0U);
  EXPECT_EQ(IntervalRank(5), 0U);
  EXPECT_EQ(IntervalRank(6), 1U);
  EXPECT_EQ(IntervalRank(8), 1U);
  EXPECT_EQ(IntervalRank(9), 2U);
  EXPECT_EQ(IntervalRank(15), 4U);
  EXPECT_EQ(IntervalRank(25), 8U);
  EXPECT_EQ(IntervalRank(100), 40U);
}

TEST(MedianInterval, RanksNeverJumpWhereTheNormalLawTakesOver) {
  for (size_t n = 880; n < 920; ++n) {
    EXPECT_LE(IntervalRank(n), IntervalRank(n + 1)) << n;
    EXPECT_LE(IntervalRank(n + 1), IntervalRank(n) + 1) << n;
  }
}

TEST(MedianInterval, EndsAreSamples) {
  const MedianInterval interval = MedianOf({9, 1, 8, 2, 7, 3, 6, 4, 5});
  EXPECT_EQ(interval.median, 5);
  EXPECT_EQ(interval.low, 2);
  EXPECT_EQ(interval.high, 8);
  EXPECT_DOUBLE_EQ(interval.HalfWidth(), 0.6);
  EXPECT_DOUBLE_EQ(interval.HalfWidth(30), 0.1);
}

TEST(MedianInterval, OutliersDoNotWidenIt) {
  std::vector<double> values(100, 10.0);
  for (size_t i = 0; i < 30; ++i) values[i] = 1e9;
  EXPECT_EQ(MedianOf(values).HalfWidth(), 0);
}

TEST(MedianInterval, FewSamplesSayNothing) {
  EXPECT_TRUE(std::isinf(MedianOf({1, 1, 1, 1, 1}).HalfWidth()));
  EXPECT_TRUE(std::isinf(MedianOf({}).HalfWidth()));
  EXPECT_EQ(MedianOf({}).median, 0);
}

// A skewed law whose median is ln 2: the interval must miss it in at most 5 of 100 cases.
TEST(MedianInterval, HoldsTheTrueMedianAsOftenAsItSays) {
  std::mt19937 random(20240101);
  std::exponential_distribution<double> law(1.0);
  for (const size_t count : {7, 40, 200, 1000}) {
    int held = 0;
    constexpr int kTrials = 2000;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> values(count);
      for (double& value : values) value = law(random);
      const MedianInterval interval = MedianOf(values);
      if (interval.low <= std::log(2.0) && std::log(2.0) <= interval.high) ++held;
    }
    EXPECT_GE(held, kTrials * 94 / 100) << count;
  }
}

double RatioOf(const SeriesSample& sample) { return sample.p99_us / sample.median_us; }

std::vector<SeriesItem> Items(size_t count, double median_us,
                              const std::function<double(size_t)>& factor) {
  std::vector<SeriesItem> items;
  for (size_t i = 0; i < count; ++i) items.push_back({median_us, median_us * factor(i)});
  return items;
}

TEST(Series, LengthsDoubleUpToAHundredthOfAllThatWasMeasured) {
  const auto series = MeasureSeries(Items(8000, 100, [](size_t) { return 1.0; }));
  ASSERT_EQ(series.size(), 4U);  // of 0.8 s
  for (size_t i = 0; i < series.size(); ++i) {
    EXPECT_DOUBLE_EQ(series[i].median_us, 1000.0 * static_cast<double>(size_t{1} << i));
    EXPECT_DOUBLE_EQ(RatioOf(series[i]), 1.0);
  }
  EXPECT_TRUE(MeasureSeries(Items(999, 100, [](size_t) { return 1.0; })).empty());
  EXPECT_TRUE(MeasureSeries({}).empty());
}

TEST(Series, WhatIsSlowByChanceEvensOutInLongOnes) {
  TestRandom random(7);
  const auto series =
      MeasureSeries(Items(64000, 100, [&](size_t) { return random.Below(20) == 0 ? 2.0 : 1.0; }));
  ASSERT_EQ(series.size(), 7U);
  // Ten items, of which four are slow once in a hundred series; 640, of which 45 are.
  EXPECT_NEAR(RatioOf(series.front()), 1.3, 0.11);
  EXPECT_NEAR(RatioOf(series.back()), 1.07, 0.02);
}

TEST(Series, WhatIsTooRareToShowInAnItemShowsInLongOnes) {
  // One in 500 takes 30 times as long: no 99th percentile of items has it, that of 64 ms has.
  const auto series =
      MeasureSeries(Items(64000, 100, [](size_t i) { return i % 500 == 499 ? 30.0 : 1.0; }));
  EXPECT_GT(RatioOf(series.back()), 1.04);
}

TEST(Series, ASlowPhaseSlowsLongOnesToo) {
  const auto series = MeasureSeries(
      Items(64000, 100, [](size_t i) { return i >= 30000 && i < 32000 ? 1.5 : 1.0; }));
  for (const SeriesSample& sample : series) EXPECT_NEAR(RatioOf(sample), 1.5, 1e-6);
}

TEST(Series, RatiosNeverRiseWithTheLength) {
  TestRandom random(11);
  for (int round = 0; round < 20; ++round) {
    const auto series = MeasureSeries(Items(20000, 50 + 10 * round, [&](size_t i) {
      return i % 997 < 3 ? 40.0 : 0.9 + 0.01 * static_cast<double>(random.Below(30));
    }));
    for (size_t i = 1; i < series.size(); ++i)
      EXPECT_LE(RatioOf(series[i]), RatioOf(series[i - 1]) * (1 + 1e-12));
    for (const SeriesSample& sample : series) EXPECT_GE(RatioOf(sample), 1.0);
  }
}

// Items of several lengths: a series is as long as its items' medians say.
TEST(Series, ItemsLongerThanASeriesAreASeriesOfOne) {
  std::vector<SeriesItem> items;
  for (int i = 0; i < 200; ++i) items.push_back({5000, i % 2 == 0 ? 5000.0 : 6000.0});
  const auto series = MeasureSeries(items);
  ASSERT_FALSE(series.empty());
  EXPECT_DOUBLE_EQ(RatioOf(series.front()), 1.2);
  EXPECT_NEAR(RatioOf(series.back()), 1.2, 0.11);
}

TEST(SmoothProfile, ASlowSmallReadTakesTheTimeOfTheNextLargerOne) {
  DeviceProfile profile;
  profile.io = {{8192, 0, 20, 30}, {4096, 0, 10, 900}, {16384, 0, 15, 40}};
  SmoothProfile(profile);
  ASSERT_EQ(profile.io.size(), 3U);
  EXPECT_EQ(profile.io[0].bytes, 4096U);
  EXPECT_EQ(profile.io[0].load_us, 10);
  EXPECT_EQ(profile.io[0].p99_us, 30);
  EXPECT_EQ(profile.io[1].load_us, 15);
  EXPECT_EQ(profile.io[1].p99_us, 30);
  EXPECT_EQ(profile.io[2].p99_us, 40);
}

TEST(SmoothProfile, AHiccupIsLoweredByWiderAndByLongerLayers) {
  DeviceProfile profile;
  profile.compute = {
      {32, 2, 10, 4000, 0}, {32, 4, 18, 4000, 0}, {64, 2, 19, 25, 0}, {64, 4, 35, 45, 0}};
  SmoothProfile(profile);
  EXPECT_EQ(profile.compute[0].p99_us, 25);
  EXPECT_EQ(profile.compute[1].p99_us, 45);
  EXPECT_EQ(profile.compute[1].layer_us, 18);
}

TEST(SmoothProfile, LastLayersAreLoweredByThemselves) {
  DeviceProfile profile;
  profile.compute = {{16, 1, 5, 6, 0, 9, 11}, {16, 2, 8, 9, 0, 4, 5}};
  SmoothProfile(profile);
  EXPECT_EQ(profile.compute[0].layer_us, 5);
  EXPECT_EQ(profile.compute[0].last_us, 4);
  EXPECT_EQ(profile.compute[0].last_p99_us, 5);
  EXPECT_EQ(profile.compute[1].last_us, 4);
}

TEST(SmoothProfile, PassesOfSeveralInputsAreSmoothedByThemselves) {
  DeviceProfile profile;
  profile.compute = {{16, 1, 5, 6, 0}};
  profile.batches = {{4, {{16, 2, 8, 9, 0}, {16, 1, 12, 14, 0}}, {}}};
  SmoothProfile(profile);
  EXPECT_EQ(profile.compute[0].layer_us, 5);
  EXPECT_EQ(profile.batches[0].compute[0].width, 1U);
  EXPECT_EQ(profile.batches[0].compute[0].layer_us, 8);
  EXPECT_EQ(profile.batches[0].compute[0].p99_us, 9);
}

TEST(SmoothProfile, NarrowerOrShorterLayersLowerNothing) {
  DeviceProfile profile;
  profile.compute = {{32, 4, 18, 20, 0}, {64, 2, 9, 10, 0}};
  SmoothProfile(profile);
  EXPECT_EQ(profile.compute[0].layer_us, 18);
  EXPECT_EQ(profile.compute[1].layer_us, 9);
}

TEST(SmoothProfile, SoundProfilesStay) {
  DeviceProfile profile;
  profile.io = {{4096, 0, 10, 12}, {8192, 0, 20, 25}};
  profile.compute = {{32, 2, 10, 11, 0}, {32, 4, 18, 20, 0}, {64, 2, 19, 22, 0}};
  DeviceProfile before = profile;
  SmoothProfile(profile);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(profile.io[i].p99_us, before.io[i].p99_us);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(profile.compute[i].p99_us, before.compute[i].p99_us);
}

}  // namespace

}  // namespace sti
