#include "base/samples.h"

#include <gtest/gtest.h>

namespace sti {
namespace {

TEST(Samples, QuantilesAreOfNearestRank) {
  Samples samples;
  EXPECT_EQ(samples.median(), 0);
  for (int i = 100; i >= 1; --i) samples.Add(i);
  EXPECT_EQ(samples.count(), 100U);
  EXPECT_EQ(samples.median(), 50);
  EXPECT_EQ(samples.p99(), 99);
  EXPECT_EQ(samples.Quantile(0), 1);
  EXPECT_EQ(samples.Quantile(1), 100);
}

TEST(Samples, FewValues) {
  Samples samples;
  samples.Add(7);
  EXPECT_EQ(samples.median(), 7);
  EXPECT_EQ(samples.p99(), 7);
  samples.Add(9);
  samples.Add(8);
  EXPECT_EQ(samples.median(), 8);
  EXPECT_EQ(samples.p99(), 9);
}

}  // namespace
}  // namespace sti
