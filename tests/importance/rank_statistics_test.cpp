#include "importance/rank_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/random.h"

namespace sti {
namespace {

using Values = std::vector<double>;

// By the definition, pair by pair.
double SlowKendall(const Values& a, const Values& b) {
  double sum = 0;
  double untied_a = 0;
  double untied_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const int sign_a = (a[i] > a[j]) - (a[i] < a[j]);
      const int sign_b = (b[i] > b[j]) - (b[i] < b[j]);
      sum += sign_a * sign_b;
      untied_a += sign_a * sign_a;
      untied_b += sign_b * sign_b;
    }
  }
  return sum / std::sqrt(untied_a * untied_b);
}

Importance Scored(uint32_t layers, uint32_t width, Values scores) {
  Importance importance;
  importance.examples = 100;
  importance.layers = layers;
  importance.width = width;
  importance.scores = std::move(scores);
  return importance;
}

TEST(Kendall, KnownValues) {
  // scipy.stats.kendalltau
  EXPECT_NEAR(*Kendall(Values{12, 2, 1, 12, 2}, Values{1, 4, 7, 1, 0}), -0.47140452079103173,
              1e-12);
  EXPECT_DOUBLE_EQ(*Kendall(Values{1, 2, 3}, Values{1, 3, 2}), 1.0 / 3);
}

TEST(Kendall, EqualsTheDefinitionOnRandomSeriesWithManyTies) {
  TestRandom random(7);
  for (int round = 0; round < 50; ++round) {
    Values a;
    Values b;
    for (int i = 0; i < 3 + round; ++i) {
      a.push_back(static_cast<double>(random.Below(5)));
      b.push_back(a.back() + static_cast<double>(random.Below(4)));
    }
    a[0] = 100;  // so that neither is constant
    b[1] = -100;
    EXPECT_NEAR(*Kendall(a, b), SlowKendall(a, b), 1e-12) << "round " << round;
  }
}

TEST(Correlations, OfAConstantAreNothing) {
  EXPECT_FALSE(Kendall(Values{1, 2, 3}, Values{4, 4, 4}).has_value());
  EXPECT_FALSE(Kendall(Values{}, Values{}).has_value());
}

TEST(Places, EqualScoresGoByLossAndShareAPlaceWhereThatIsEqualToo) {
  Importance importance = Scored(1, 4, {5, 7, 5, 5});
  EXPECT_EQ(Places(importance), (Values{3, 1, 3, 3}));
  importance.losses = {0.5, 0.9, 0.2, 0.5};
  EXPECT_EQ(Places(importance), (Values{3.5, 1, 2, 3.5}));
}

TEST(Agreement, WithItselfIsWhole) {
  const Importance importance = Scored(2, 3, {1, 2, 3, 4, 5, 6});
  const RankAgreement agreement = Agreement(importance, importance);
  EXPECT_DOUBLE_EQ(*agreement.spearman, 1);
  EXPECT_DOUBLE_EQ(*agreement.kendall, 1);
  EXPECT_EQ(agreement.top, 2U);
  EXPECT_EQ(agreement.top_shared, 2U);
}

TEST(Agreement, OfOppositesSharesNoTop) {
  const RankAgreement agreement = Agreement(Scored(2, 2, {1, 2, 3, 4}), Scored(2, 2, {4, 3, 2, 1}));
  EXPECT_DOUBLE_EQ(*agreement.spearman, -1);
  EXPECT_DOUBLE_EQ(*agreement.kendall, -1);
  EXPECT_EQ(agreement.top, 1U);
  EXPECT_EQ(agreement.top_shared, 0U);
}

TEST(NoiseOf, CountsShardsBeyondTwoErrors) {
  Importance importance = Scored(2, 2, {0.5, 0.7, 0.2, 0.61});
  importance.baseline = 0.5;
  EXPECT_FALSE(NoiseOf(importance).has_value());
  importance.errors = {0.05, 0.05, 0.1, 0.06};
  // The second and the third, above and below; the others are within two.
  EXPECT_EQ(NoiseOf(importance)->different, 2U);
}

TEST(NoiseOf, ReliabilityIsWhatErrorsLeaveOfTheVariance) {
  Importance importance = Scored(1, 4, {1, 2, 3, 4});
  // Variance of the scores: 5/3.
  importance.errors = {0.5, 0.5, 0.5, 0.5};
  EXPECT_DOUBLE_EQ(NoiseOf(importance)->reliability, 1 - 0.25 * 3 / 5);
  EXPECT_DOUBLE_EQ(NoiseOf(importance)->error, 0.5);
  importance.errors = {0, 0, 0, 0};
  EXPECT_DOUBLE_EQ(NoiseOf(importance)->reliability, 1);
  importance.errors = {3, 3, 3, 3};
  EXPECT_DOUBLE_EQ(NoiseOf(importance)->reliability, 0);
}

TEST(NoiseOf, OneExampleIsNoEvidence) {
  Importance importance = Scored(1, 3, {1, 2, 3});
  importance.errors = {0, 0, 0};
  EXPECT_DOUBLE_EQ(NoiseOf(importance)->reliability, 1);
  importance.examples = 1;
  EXPECT_DOUBLE_EQ(NoiseOf(importance)->reliability, 0);
}

TEST(NoiseOf, EqualScoresHaveNoRankToRelyOn) {
  // Their mean is no double, so that the variance as computed is above 0.
  Importance importance = Scored(6, 12, Values(72, 5.0 / 6));
  importance.baseline = 5.0 / 6;
  importance.errors = Values(72, 0);
  EXPECT_DOUBLE_EQ(NoiseOf(importance)->reliability, 0);
  EXPECT_EQ(NoiseOf(importance)->different, 0U);
}

}  // namespace
}  // namespace sti
