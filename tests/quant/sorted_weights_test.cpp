#include "quant/sorted_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "support/random.h"

namespace sti {
namespace {

TEST(SortKey, OrdersLikeTheValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  const float ascending[] = {-kInfinity, -3e38F, -1.0F,  -0.99999994F, -1e-38F, -kTiny,   0.0F,
                             kTiny,      1e-38F, 0.999F, 1.0F,         3e38F,   kInfinity};
  for (size_t i = 1; i < std::size(ascending); ++i) {
    EXPECT_LT(SortKey(ascending[i - 1]), SortKey(ascending[i])) << ascending[i];
  }
}

TEST(SortKey, ZerosOfBothSignsAreOneValue) {
  EXPECT_EQ(SortKey(-0.0F), SortKey(0.0F));
  EXPECT_FALSE(std::signbit(ValueOfKey(SortKey(-0.0F))));
}

TEST(SortKey, GivesTheValueBack) {
  TestRandom random(1);
  for (int i = 0; i < 10000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random.Next()));
    if (std::isnan(value) || value == 0) continue;
    EXPECT_EQ(ValueOfKey(SortKey(value)), value);
  }
}

TEST(SortKeys, SortsLikeTheStandardLibrary) {
  TestRandom random(2);
  for (const size_t count : {0U, 1U, 2U, 63U, 1000U, 100003U}) {
    std::vector<uint32_t> keys(count);
    for (uint32_t& key : keys) key = static_cast<uint32_t>(random.Next());
    std::vector<uint32_t> expected = keys;
    std::sort(expected.begin(), expected.end());
    SortKeys(keys);
    EXPECT_EQ(keys, expected) << count;
  }
}

TEST(SortKeys, SortsManyTiesAndNarrowRanges) {
  TestRandom random(3);
  std::vector<uint32_t> keys(5000);
  for (uint32_t& key : keys) key = 0xFFFFFFFFU - static_cast<uint32_t>(random.Below(7)) * 2048;
  std::vector<uint32_t> expected = keys;
  std::sort(expected.begin(), expected.end());
  SortKeys(keys);
  EXPECT_EQ(keys, expected);
}

}  // namespace
}  // namespace sti
