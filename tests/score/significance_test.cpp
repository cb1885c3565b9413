// Published values: R. G. Newcombe, "Two-sided confidence intervals for the single proportion"
// (Statistics in Medicine 17, 1998), Table I, method 3; McNemar's test by fractions of whole
// numbers, and the example of statsmodels' documentation.
#include "score/significance.h"

#include <gtest/gtest.h>

namespace sti {
namespace {

void ExpectInterval(uint64_t right, uint64_t examples, double low, double high) {
  const ShareInterval interval = WilsonInterval(right, examples);
  EXPECT_NEAR(interval.low, low, 0.00005) << right << " of " << examples;
  EXPECT_NEAR(interval.high, high, 0.00005) << right << " of " << examples;
}

TEST(WilsonInterval, PublishedValues) {
  ExpectInterval(81, 263, 0.2553, 0.3662);
  ExpectInterval(15, 148, 0.0624, 0.1605);
  ExpectInterval(0, 20, 0.0000, 0.1611);
  ExpectInterval(1, 29, 0.0061, 0.1718);
}

TEST(WilsonInterval, IsOneSidedAtTheEnds) {
  for (uint64_t examples = 1; examples < 40; ++examples) {  // some are rounded off the end
    EXPECT_EQ(WilsonInterval(0, examples).low, 0) << examples;
    EXPECT_EQ(WilsonInterval(examples, examples).high, 1) << examples;
  }
  EXPECT_NEAR(WilsonInterval(20, 20).low, 1 - WilsonInterval(0, 20).high, 1e-15);
  EXPECT_EQ(WilsonInterval(0, 0).low, 0);
  EXPECT_EQ(WilsonInterval(0, 0).high, 1);
}

TEST(McNemarExact, SmallCounts) {
  EXPECT_NEAR(McNemarExact(0, 0), 1, 1e-12);
  EXPECT_NEAR(McNemarExact(0, 5), 2.0 / 32, 1e-12);
  EXPECT_NEAR(McNemarExact(0, 6), 2.0 / 64, 1e-12);
  EXPECT_NEAR(McNemarExact(7, 1), 2.0 * (1 + 8) / 256, 1e-12);
  EXPECT_NEAR(McNemarExact(2, 12), 2.0 * (1 + 14 + 91) / 16384, 1e-12);
  EXPECT_NEAR(McNemarExact(3, 3), 1, 1e-12);
  EXPECT_NEAR(McNemarExact(4, 5), 1, 1e-12);
}

TEST(McNemarExact, LargeCounts) {
  EXPECT_NEAR(McNemarExact(121, 59) / 4.434449263755176e-06, 1, 1e-9);
  EXPECT_NEAR(McNemarExact(59, 121) / 4.434449263755176e-06, 1, 1e-9);
  EXPECT_NEAR(McNemarExact(900, 1000) / 0.02310884510890107, 1, 1e-9);
  EXPECT_NEAR(McNemarExact(5200, 4800) / 6.593515598672442e-05, 1, 1e-9);
  EXPECT_NEAR(McNemarExact(8'000'000, 8'000'000), 1, 1e-6);
  EXPECT_EQ(McNemarExact(0, 16'000'000), 0);
}

}  // namespace
}  // namespace sti
