// Here rather than in tests/base, since weights are what these conversions are for.
#include "base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

namespace sti {
namespace {

TEST(Half, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float wide = HalfToFloat(half);
    if ((bits & 0x7FFF) <= 0x7C00) {
      EXPECT_EQ(FloatToHalf(wide), half) << bits;
    } else {
      EXPECT_NE(wide, wide) << bits;
    }
  }
}

TEST(Half, KnownValues) {
  EXPECT_EQ(HalfToFloat(0x3C00), 1.0f);
  EXPECT_EQ(HalfToFloat(0x0001), 0x1p-24f);
  EXPECT_EQ(HalfToFloat(0x8400), -0x1p-14f);
  EXPECT_EQ(HalfToFloat(0x7BFF), 65504.0f);
  EXPECT_EQ(HalfToFloat(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(std::bit_cast<uint32_t>(HalfToFloat(0x8000)), 0x80000000u);
  EXPECT_EQ(BFloatToFloat(0x3F80), 1.0f);
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(FloatToHalf(1.0f + 0x1p-11f), 0x3C00);
  EXPECT_EQ(FloatToHalf(1.0f + 0x3p-11f), 0x3C02);
  EXPECT_EQ(FloatToHalf(65519.0f), 0x7BFF);
  EXPECT_EQ(FloatToHalf(65520.0f), 0x7C00);
  EXPECT_EQ(FloatToHalf(1e30f), 0x7C00);
  EXPECT_EQ(FloatToHalf(0x1p-25f), 0x0000);
  EXPECT_EQ(FloatToHalf(0x1.8p-25f), 0x0001);
  EXPECT_EQ(FloatToBFloat(1.0f + 0x1p-8f), 0x3F80);
  EXPECT_EQ(FloatToBFloat(1.0f + 0x3p-8f), 0x3F82);
}

}  // namespace
}  // namespace sti
