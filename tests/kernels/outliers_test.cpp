// The search for the outliers of a part of a shard looks first where they would be if they lay
// evenly. Here they cluster, so that it is wrong in every way that it can be.
#include "kernels/fp32/outliers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace sti {
namespace {

using Lows = std::vector<uint32_t>;

/// `count` places one after another, from `first` on.
Lows Cluster(uint32_t first, uint32_t count) {
  Lows lows(count);
  for (uint32_t i = 0; i < count; ++i) lows[i] = first + i;
  return lows;
}

Lows Joined(Lows lows, const Lows& more) {
  lows.insert(lows.end(), more.begin(), more.end());
  return lows;
}

/// Compares with a plain search at every place of a block; the list lies among those of others.
void ExpectFirstAtAllPlaces(const Lows& lows) {
  constexpr uint32_t kOthers = 7;
  const Lows others(kOthers, 40'000);
  std::vector<uint8_t> bytes;
  for (const uint32_t low : Joined(Joined(others, lows), others)) {
    bytes.push_back(static_cast<uint8_t>(low));
    bytes.push_back(static_cast<uint8_t>(low >> 8U));
  }
  const auto end = kOthers + static_cast<uint32_t>(lows.size());
  for (uint32_t low = 0; low < kOutlierBlock; ++low) {
    const auto expected = std::lower_bound(lows.begin(), lows.end(), low) - lows.begin();
    ASSERT_EQ(FirstOutlierOfBlock(bytes.data(), kOthers, end, low), kOthers + expected)
        << low << " of " << lows.size();
  }
}

TEST(Outliers, TheFirstOfAPartIsFoundHoweverTheyCluster) {
  ExpectFirstAtAllPlaces({});
  ExpectFirstAtAllPlaces({65'535});
  ExpectFirstAtAllPlaces(Cluster(0, 500));
  ExpectFirstAtAllPlaces(Cluster(65'036, 500));
  ExpectFirstAtAllPlaces(Joined(Cluster(100, 250), Cluster(65'000, 250)));
  ExpectFirstAtAllPlaces(Joined(Cluster(20'000, 30), Cluster(40'000, 3'000)));
  Lows evenly(400);
  for (uint32_t i = 0; i < evenly.size(); ++i) evenly[i] = i * 163 + i % 5;
  ExpectFirstAtAllPlaces(evenly);
}

}  // namespace
}  // namespace sti
