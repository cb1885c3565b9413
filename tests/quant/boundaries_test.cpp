#include "quant/boundaries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "quant/sorted_weights.h"
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

}  // namespace
}  // namespace sti
