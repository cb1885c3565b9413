#include "plan/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sti {
namespace {

TEST(PlanText, FixedPointsAreRoundedAndPadded) {
  EXPECT_EQ(FixedPoint(0, 3), "0.000");
  EXPECT_EQ(FixedPoint(0.0004, 3), "0.000");
  EXPECT_EQ(FixedPoint(-0.0004, 3), "0.000");
  EXPECT_EQ(FixedPoint(0.0006, 3), "0.001");
  EXPECT_EQ(FixedPoint(-0.25, 1), "-0.3");
  EXPECT_EQ(FixedPoint(12.3456, 2), "12.35");
  EXPECT_EQ(FixedPoint(999.9996, 3), "1000.000");
  EXPECT_EQ(FixedPoint(56.4, 0), "56");
  EXPECT_EQ(FixedPoint(-56, 0), "-56");
  EXPECT_EQ(FixedPoint(9999999999.5, 4), "9999999999.5000");
}

TEST(PlanText, NumbersOfMoreDigitsThanADoubleHasAreWhole) {
  EXPECT_EQ(FixedPoint(1e10, 3), "10000000000");
  EXPECT_EQ(FixedPoint(-3e15, 3), "-3000000000000000");
  EXPECT_EQ(FixedPoint(1e308, 3).size(), 309U);
  EXPECT_EQ(FixedPoint(std::numeric_limits<double>::infinity(), 3), "inf");
  EXPECT_EQ(FixedPoint(std::nan(""), 3), "nan");
}

TEST(PlanText, TimesOfRequestsAreRoundedUp) {
  EXPECT_EQ(Ms(12345.4), "12.345 ms");
  EXPECT_EQ(MsUp(12345.4), "12.346ms");
}

}  // namespace
}  // namespace sti
