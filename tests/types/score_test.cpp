#include "types/score.h"

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

TEST(CrossEntropy, AtATemperatureTheLogitsAreDividedByIt) {
  for (const double temperature : {0.25, 0.8, 1.0, 4.0}) {
    const Logits divided{static_cast<float>(1 / temperature), static_cast<float>(3 / temperature)};
    EXPECT_NEAR(CrossEntropyAt(Logits{1, 3}, 0, temperature), CrossEntropy(divided, 0), 1e-6);
    EXPECT_NEAR(CrossEntropyAt(Logits{1, 3}, 1, temperature), CrossEntropy(divided, 1), 1e-6);
  }
  EXPECT_NEAR(CrossEntropyAt(Logits{10000, 0}, 1, 0.5), 20000, 1e-9);
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

TEST(BinaryCrossEntropy, ClosedFormsAndNoOverflow) {
  const std::vector<uint32_t> none;
  const std::vector<uint32_t> second = {1};
  EXPECT_NEAR(BinaryCrossEntropy(Logits{0, 0, 0}, second), std::log(2.0), 1e-15);
  const double expected = (std::log1p(std::exp(2.0)) + std::log1p(std::exp(-3.0))) / 2;
  EXPECT_NEAR(BinaryCrossEntropy(Logits{2, 3}, second), expected, 1e-14);
  EXPECT_NEAR(BinaryCrossEntropy(Logits{10000, -10000}, none), 5000, 1e-9);
  EXPECT_NEAR(BinaryCrossEntropy(Logits{-10000, 10000}, second), 0, 1e-15);
}

TEST(BernoulliDivergence, SumsOverLabels) {
  EXPECT_NEAR(BernoulliDivergence(Logits{1, -2}, Logits{1, -2}), 0, 1e-15);
  // p = 3/4, q = 1/2, and a label that agrees.
  const double expected = 0.75 * std::log(1.5) + 0.25 * std::log(0.5);
  EXPECT_NEAR(BernoulliDivergence(Logits{std::log(3.0F), 4}, Logits{0, 4}), expected, 1e-7);
  EXPECT_NEAR(BernoulliDivergence(Logits{1000, -1000}, Logits{1000, -1000}), 0, 1e-12);
  EXPECT_GT(BernoulliDivergence(Logits{1, 2}, Logits{1, -2}), 1);
}

TEST(Judge, OneLabelOrExactlyTheSet) {
  const std::vector<uint32_t> truth = {0, 2};
  const Judgement one = Judge(Problem::kSingleLabel, Logits{1, 2, 0}, std::vector<uint32_t>{1});
  EXPECT_TRUE(one.right);
  EXPECT_EQ(one.loss, CrossEntropy(Logits{1, 2, 0}, 1));
  EXPECT_FALSE(Judge(Problem::kSingleLabel, Logits{1, 2, 0}, std::vector<uint32_t>{0}).right);
  const Judgement set = Judge(Problem::kMultiLabel, Logits{1, -1, 0}, truth);
  EXPECT_TRUE(set.right) << "a sigmoid of one half reaches one half";
  EXPECT_EQ(set.loss, BinaryCrossEntropy(Logits{1, -1, 0}, truth));
  EXPECT_FALSE(Judge(Problem::kMultiLabel, Logits{1, -1, 0}, truth, 0.6).right);
  EXPECT_FALSE(Judge(Problem::kMultiLabel, Logits{1, 1, 1}, truth).right);
  EXPECT_TRUE(Judge(Problem::kMultiLabel, Logits{-1, -1, -1}, {}).right);
  EXPECT_EQ(Divergence(Problem::kSingleLabel, Logits{1, 2}, Logits{2, 1}),
            KlDivergence(Logits{1, 2}, Logits{2, 1}));
  EXPECT_EQ(Divergence(Problem::kMultiLabel, Logits{1, 2}, Logits{2, 1}),
            BernoulliDivergence(Logits{1, 2}, Logits{2, 1}));
}

TEST(LabelsOf, TheLargestOrAllThatApply) {
  const Logits logits{-1, 3, 0, 2};
  EXPECT_EQ(LabelsOf(Problem::kSingleLabel, logits), (std::vector<uint32_t>{1}));
  EXPECT_EQ(LabelsOf(Problem::kMultiLabel, logits), (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(LabelsOf(Problem::kMultiLabel, logits, 0.9), (std::vector<uint32_t>{1}));
  EXPECT_TRUE(Judge(Problem::kMultiLabel, logits, LabelsOf(Problem::kMultiLabel, logits)).right);
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

using Logits = std::vector<float>;

TEST(Softmax, ClosedFormsAtATemperature) {
  // (3/4, 1/4) at 1; at 1/2 the squares of the odds, 9 to 1; at 2 the roots of them.
  const Logits logits{std::log(3.0F), 0};
  std::vector<float> at(2);
  SoftmaxAt(logits, 1, at);
  EXPECT_NEAR(at[0], 0.75, 1e-7);
  SoftmaxAt(logits, 0.5, at);
  EXPECT_NEAR(at[0], 0.9, 1e-7);
  EXPECT_NEAR(at[1], 0.1, 1e-7);
  SoftmaxAt(logits, 2, at);
  EXPECT_NEAR(at[0], std::sqrt(3.0) / (1 + std::sqrt(3.0)), 1e-7);
}

TEST(Softmax, ProbabilitiesAreThoseOfTheDenominator) {
  const Logits logits{2, -1, 1.5, 2};
  const SoftmaxSum of = SoftmaxSumOf(logits, 1.5);
  EXPECT_EQ(of.top, 2);
  EXPECT_NEAR(of.sum, 2 + std::exp(-2.0) + std::exp(-0.5 / 1.5), 1e-15);
  std::vector<float> at(4);
  SoftmaxAt(logits, 1.5, at);
  double sum = 0;
  for (size_t i = 0; i < at.size(); ++i) {
    EXPECT_EQ(at[i], static_cast<float>(ProbabilityOf(logits[i], of))) << i;
    sum += ProbabilityOf(logits[i], of);
  }
  EXPECT_NEAR(sum, 1, 1e-15);
}

TEST(LogSumExp, ClosedFormsAndNoOverflow) {
  EXPECT_EQ(LogSumExp(Logits{7}), 7);
  EXPECT_NEAR(LogSumExp(Logits{0, 0, 0, 0}), std::log(4.0), 1e-15);
  EXPECT_NEAR(LogSumExp(Logits{std::log(3.0F), 0}), std::log(4.0), 1e-7);
  EXPECT_EQ(LogSumExp(Logits{10000, 0}), 10000);
  EXPECT_NEAR(LogSumExp(Logits{-10000, -10000}), -10000 + std::log(2.0), 1e-9);
}

TEST(Sigmoid, ClosedFormsAndNoOverflow) {
  EXPECT_EQ(Sigmoid(0), 0.5);
  EXPECT_NEAR(Sigmoid(std::log(3.0)), 0.75, 1e-15);
  EXPECT_NEAR(Sigmoid(-std::log(3.0)), 0.25, 1e-15);
  EXPECT_EQ(Sigmoid(10000), 1);
  EXPECT_EQ(Sigmoid(-10000), 0);
}

TEST(SoftPlus, IsTheLogarithmOfTheSigmoid) {
  for (const double x : {-2.0, 0.0, 0.5, 30.0}) {
    EXPECT_NEAR(SoftPlus(x) / -std::log(Sigmoid(-x)), 1, 1e-9) << x;
  }
  EXPECT_NEAR(SoftPlus(-30) / std::exp(-30.0), 1, 1e-12);
  EXPECT_EQ(SoftPlus(10000), 10000);
  EXPECT_EQ(SoftPlus(-10000), 0);
}

}  // namespace

}  // namespace sti
