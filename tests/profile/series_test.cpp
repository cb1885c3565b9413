#include "profile/series.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/random.h"

namespace sti {
namespace {

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

}  // namespace
}  // namespace sti
