#include "types/rank_correlation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "support/random.h"
#include "types/score.h"

namespace sti {
namespace {

using Values = std::vector<double>;

TEST(Spearman, OnlyTheOrderCounts) {
  EXPECT_DOUBLE_EQ(*Spearman(Values{1, 2, 3, 4}, Values{-5, 0, 1, 1000}), 1);
  EXPECT_DOUBLE_EQ(*Spearman(Values{1, 2, 3, 4}, Values{9, 8, 7, -1}), -1);
}

TEST(Spearman, KnownValues) {
  // scipy.stats.spearmanr
  EXPECT_NEAR(*Spearman(Values{1, 2, 3, 4, 5}, Values{5, 6, 7, 8, 7}), 0.8207826816681233, 1e-12);
  EXPECT_NEAR(*Spearman(Values{1, 1, 2, 3}, Values{2, 1, 1, 4}), 0.5, 1e-12);
}

TEST(Spearman, OfAConstantIsNothing) {
  EXPECT_FALSE(Spearman(Values{1, 1, 1}, Values{1, 2, 3}).has_value());
  EXPECT_FALSE(Spearman(Values{1}, Values{2}).has_value());
  EXPECT_FALSE(Spearman(Values{}, Values{}).has_value());
}

// Two series that go together somewhat; ties in the second alone, or in both.
void MakeSeries(TestRandom* random, size_t count, bool ties, Values* a, Values* b) {
  for (size_t i = 0; i < count; ++i) {
    const auto common = static_cast<double>(random->Below(1000));
    const double own = static_cast<double>(random->Below(1000)) + 1e-6 * static_cast<double>(i);
    a->push_back(ties ? std::floor((common + own) / 400) : common + own);
    b->push_back(std::floor((common + static_cast<double>(random->Below(700))) / 300));
  }
}

// Its definition: what the correlation becomes when an element counts a little more. A whole more
// element moves it by about a count-th of its influence.
TEST(SpearmanInfluence, IsWhatOneMoreOfAnElementMoves) {
  TestRandom random(3);
  for (const bool ties : {false, true}) {
    Values a;
    Values b;
    MakeSeries(&random, 600, ties, &a, &b);
    const Values influence = SpearmanInfluence(a, b);
    const double before = *Spearman(a, b);
    RunningMean error;
    double largest = 0;
    for (size_t i = 0; i < a.size(); i += 7) {
      Values more_a = a;
      Values more_b = b;
      more_a.push_back(a[i]);
      more_b.push_back(b[i]);
      const double moved = (*Spearman(more_a, more_b) - before) * static_cast<double>(a.size() + 1);
      error.Add(std::abs(moved - influence[i]));
      largest = std::max(largest, std::abs(moved));
    }
    EXPECT_GT(largest, 1);
    EXPECT_LT(error.mean(), 0.01) << ties;
    EXPECT_NEAR(std::accumulate(influence.begin(), influence.end(), 0.0), 0, 1e-9);
  }
}

// The error that it gives is the spread of the correlation among many samples.
TEST(SpearmanInfluence, GivesTheStandardErrorOfTheCorrelation) {
  TestRandom random(11);
  RunningMean correlations;
  RunningMean errors;
  constexpr size_t kSamples = 400;
  for (size_t sample = 0; sample < kSamples; ++sample) {
    Values a;
    Values b;
    MakeSeries(&random, 150, false, &a, &b);
    correlations.Add(*Spearman(a, b));
    RunningMean influence;
    for (const double one : SpearmanInfluence(a, b)) influence.Add(one);
    errors.Add(influence.standard_error());
  }
  const double spread = correlations.standard_error() * std::sqrt(double{kSamples});
  EXPECT_NEAR(errors.mean(), spread, spread / 10);
}

TEST(SpearmanInfluence, IsNothingWithoutACorrelation) {
  EXPECT_EQ(SpearmanInfluence(Values{1, 1, 1}, Values{1, 2, 3}), Values(3));
  EXPECT_TRUE(SpearmanInfluence(Values{}, Values{}).empty());
}

}  // namespace
}  // namespace sti
