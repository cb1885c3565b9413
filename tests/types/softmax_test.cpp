#include "types/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sti {
namespace {

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
