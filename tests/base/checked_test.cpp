#include "base/checked.h"

#include <gtest/gtest.h>

namespace sti {
namespace {

constexpr uint64_t kMax = UINT64_MAX;

TEST(Checked, AddSaysWhenItOverflows) {
  EXPECT_EQ(CheckedAdd(kMax - 5, 5), kMax);
  EXPECT_EQ(CheckedAdd(kMax - 5, 6), std::nullopt);
  EXPECT_EQ(CheckedAdd(kMax, kMax), std::nullopt);
  EXPECT_EQ(CheckedAdd(0, 0), 0U);
}

TEST(Checked, MulSaysWhenItOverflows) {
  EXPECT_EQ(CheckedMul(uint64_t{1} << 32, (uint64_t{1} << 32) - 1), kMax - 0xFFFFFFFFU);
  EXPECT_EQ(CheckedMul(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(CheckedMul(kMax, 0), 0U);
  EXPECT_EQ(CheckedMul(kMax, 1), kMax);
}

TEST(Checked, RangeFitsWithoutOverflow) {
  EXPECT_TRUE(RangeFits(0, 10, 10));
  EXPECT_TRUE(RangeFits(10, 0, 10));
  EXPECT_FALSE(RangeFits(11, 0, 10));
  EXPECT_FALSE(RangeFits(1, 10, 10));
  EXPECT_FALSE(RangeFits(kMax, 2, 10));
  EXPECT_FALSE(RangeFits(2, kMax, 10));
}

TEST(Checked, RoundsToUnits) {
  EXPECT_EQ(RoundUp(0, 4096), 0U);
  EXPECT_EQ(RoundUp(1, 4096), 4096U);
  EXPECT_EQ(RoundUp(4096, 4096), 4096U);
  EXPECT_EQ(RoundUp(4097, 4096), 8192U);
  EXPECT_EQ(RoundDown(4095, 4096), 0U);
  EXPECT_EQ(RoundDown(8191, 4096), 4096U);
}

}  // namespace
}  // namespace sti
