#include "profile/median_interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

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

}  // namespace
}  // namespace sti
