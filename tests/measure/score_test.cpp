#include "measure/score.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sti {
namespace {

using Logits = std::vector<float>;

TEST(CrossEntropy, ClosedForms) {
  EXPECT_NEAR(CrossEntropy(Logits{0, 0}, 0), std::log(2.0), 1e-15);
  EXPECT_NEAR(CrossEntropy(Logits{5, 5, 5, 5}, 3), std::log(4.0), 1e-15);
  EXPECT_NEAR(CrossEntropy(Logits{1, 3}, 0), std::log1p(std::exp(2.0)), 1e-14);
  EXPECT_NEAR(CrossEntropy(Logits{1, 3}, 1), std::log1p(std::exp(-2.0)), 1e-14);
  EXPECT_EQ(CrossEntropy(Logits{7}, 0), 0);
}

TEST(CrossEntropy, LargeLogitsDoNotOverflow) {
  EXPECT_NEAR(CrossEntropy(Logits{10000, 0}, 1), 10000, 1e-9);
  EXPECT_NEAR(CrossEntropy(Logits{-10000, 0}, 1), 0, 1e-15);
}

TEST(KlDivergence, IsZeroOnlyForTheSameDistribution) {
  EXPECT_NEAR(KlDivergence(Logits{1, 2, 3}, Logits{1, 2, 3}), 0, 1e-15);
  EXPECT_NEAR(KlDivergence(Logits{1, 2, 3}, Logits{11, 12, 13}), 0, 1e-12);
  EXPECT_GT(KlDivergence(Logits{1, 2, 3}, Logits{1, 2, 3.1F}), 1e-5);
}

TEST(KlDivergence, ClosedFormAndDirection) {
  // p = (3/4, 1/4), q = (1/2, 1/2).
  const Logits p{std::log(3.0F), 0};
  const Logits q{0, 0};
  EXPECT_NEAR(KlDivergence(p, q), 0.75 * std::log(1.5) + 0.25 * std::log(0.5), 1e-7);
  EXPECT_NEAR(KlDivergence(q, p), 0.5 * std::log(2.0 / 3) + 0.5 * std::log(2.0), 1e-7);
}

TEST(ArgMax, TakesTheFirstOfTheLargest) {
  EXPECT_EQ(ArgMax(Logits{1, 3, 2}), 1U);
  EXPECT_EQ(ArgMax(Logits{-1, -1, -2}), 0U);
  EXPECT_EQ(ArgMax(Logits{4}), 0U);
}

TEST(RunningMean, MeanAndStandardError) {
  RunningMean mean;
  EXPECT_EQ(mean.mean(), 0);
  EXPECT_EQ(mean.standard_error(), 0);
  mean.Add(2);
  EXPECT_EQ(mean.mean(), 2);
  EXPECT_EQ(mean.standard_error(), 0);
  for (const double value : {4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}) mean.Add(value);
  EXPECT_EQ(mean.count(), 8U);
  EXPECT_DOUBLE_EQ(mean.mean(), 5);
  EXPECT_NEAR(mean.standard_error(), std::sqrt(32.0 / 7 / 8), 1e-12);
}

TEST(RunningMean, EqualValuesHaveNoError) {
  RunningMean mean;
  for (int i = 0; i < 1000; ++i) mean.Add(0.1);
  EXPECT_NEAR(mean.mean(), 0.1, 1e-12);
  EXPECT_NEAR(mean.standard_error(), 0, 1e-9);
}

}  // namespace
}  // namespace sti
