#include "quant/boundaries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "support/random.h"

namespace sti {
namespace {

std::vector<uint32_t> SortedKeys(const std::vector<float>& values) {
  std::vector<uint32_t> keys;
  for (const float value : values) keys.push_back(SortKey(value));
  std::sort(keys.begin(), keys.end());
  return keys;
}

void ExpectSound(const std::vector<uint32_t>& keys, const Boundaries& boundaries) {
  EXPECT_EQ(boundaries.front(), 0U);
  EXPECT_EQ(boundaries.back(), keys.size());
  EXPECT_TRUE(std::is_sorted(boundaries.begin(), boundaries.end()));
  for (const uint64_t edge : boundaries) {
    if (edge == 0 || edge >= keys.size()) continue;
    EXPECT_NE(keys[edge - 1], keys[edge]) << "equal values parted at rank " << edge;
  }
}

TEST(EqualPopulation, IsTheFloorOfEachShare) {
  for (const uint64_t count : {0UL, 1UL, 63UL, 64UL, 65UL, 7077888UL, 4294967295UL}) {
    const Boundaries boundaries = EqualPopulation(count);
    for (uint64_t j = 0; j <= kClusters; ++j) {
      EXPECT_LE(boundaries[j] * 64, j * count);
      EXPECT_GT((boundaries[j] + 1) * 64, j * count);
    }
  }
}

TEST(NestedLloyd, NeverPartsEqualValues) {
  TestRandom random(1);
  for (const int kinds : {1, 2, 3, 5, 64, 65, 300}) {
    std::vector<float> values(4000);
    for (float& value : values) {
      value = static_cast<float>(std::round(random.Normal() * kinds / 3.0)) / 64.0F;
    }
    const auto keys = SortedKeys(values);
    ExpectSound(keys, NestedLloyd(keys));
  }
}

TEST(NestedLloyd, IsSoundOnFewAndNoWeights) {
  TestRandom random(2);
  for (size_t count = 0; count < 70; ++count) {
    const auto keys = SortedKeys(random.Normals(count, 0.1));
    ExpectSound(keys, NestedLloyd(keys));
  }
}

// Values of all magnitudes cancel badly in sums; the boundaries must stay in order even so.
TEST(NestedLloyd, IsSoundOnAllMagnitudes) {
  TestRandom random(3);
  for (int round = 0; round < 400; ++round) {
    std::vector<float> values(1 + random.Below(200));
    for (float& value : values) {
      const double magnitude = std::pow(10.0, -30.0 * random.Uniform() * random.Uniform());
      value = static_cast<float>((random.Uniform() < 0.5 ? -20 : 20) * magnitude);
    }
    const auto keys = SortedKeys(values);
    ExpectSound(keys, NestedLloyd(keys));
  }
}

TEST(NestedLloyd, SeparatesFourFarGroups) {
  std::vector<float> values;
  for (const float centre : {-9.0F, -1.0F, 2.0F, 30.0F}) {
    for (int i = 0; i < 100; ++i) values.push_back(centre + static_cast<float>(i) * 1e-4F);
  }
  const Boundaries boundaries = NestedLloyd(SortedKeys(values));
  EXPECT_EQ(boundaries[16], 100U);
  EXPECT_EQ(boundaries[32], 200U);
  EXPECT_EQ(boundaries[48], 300U);
}

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
