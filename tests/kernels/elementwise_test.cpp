#include "kernels/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/instruction_sets.h"

namespace sti {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double ExactGelu(double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0)); }
double ExactGeluTanh(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

// Numbers from -20 to 20, densely, and their images.
std::vector<float> Sweep() {
  std::vector<float> x;
  for (int i = -40000; i <= 40000; ++i) x.push_back(static_cast<float>(i) / 2000);
  return x;
}

TEST(Activate, GeluIsTheErfFormWithinAMillionth) {
  testing::ForEachInstructionSet([] {
    const auto x = Sweep();
    auto y = x;
    Activate(Activation::kGelu, y.data(), y.size(), 1, static_cast<uint32_t>(y.size()));
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      // Beyond 8 a float's own spacing is what is left of the error.
      const double error = std::abs(y[i] - ExactGelu(x[i]));
      worst = std::max(worst, error / std::max(1.0, std::abs(x[i]) / 4.0));
    }
    EXPECT_LT(worst, 5e-7);
  });
}

TEST(Activate, GeluTanhAndRelu) {
  testing::ForEachInstructionSet([] {
    const auto x = Sweep();
    auto y = x;
    Activate(Activation::kGeluTanh, y.data(), y.size(), 1, static_cast<uint32_t>(y.size()));
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], ExactGeluTanh(x[i]), 2e-6) << x[i];
    y = x;
    Activate(Activation::kRelu, y.data(), y.size(), 1, static_cast<uint32_t>(y.size()));
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], std::max(x[i], 0.0f));
  });
}

TEST(Activate, ExtremesEndAndStayWithinTheirRow) {
  for (const Activation kind : {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu}) {
    std::vector<float> x = {kNan, kInfinity, -kInfinity, 1e-42f, 3e38f, -3e38f, 99, 98};
    Activate(kind, x.data(), 4, 2, 3);
    EXPECT_EQ(x[1], kInfinity);
    EXPECT_EQ(x[3], 1e-42f) << "past the row's width";
    EXPECT_EQ(x[4], 3e38f);
    EXPECT_EQ(x[7], 98) << "past the row's width";
  }
}

TEST(SoftmaxRow, AgreesWithDoubles) {
  testing::ForEachInstructionSet([] {
    for (uint32_t count = 1; count < 70; ++count) {
      std::vector<float> x(count + 1);
      std::vector<double> expected(count);
      double sum = 0;
      for (uint32_t i = 0; i < count; ++i) {
        x[i] = std::sin(static_cast<float>(i * count)) * 30;
        sum += expected[i] = std::exp(0.25 * (x[i] - 30));
      }
      x[count] = -5;
      SoftmaxRow(x.data(), count, 0.25f);
      for (uint32_t i = 0; i < count; ++i) ASSERT_NEAR(x[i], expected[i] / sum, 1e-6);
      EXPECT_EQ(x[count], -5);
    }
  });
}

TEST(SoftmaxRow, ExtremesEnd) {
  std::vector<float> x = {1e38f, -1e38f, 0};
  SoftmaxRow(x.data(), 3, 1);
  EXPECT_EQ(x, (std::vector<float>{1, 0, 0}));
  x = {kNan, 1, kInfinity};
  SoftmaxRow(x.data(), 3, 1);
}

TEST(LayerNormRow, AgreesWithDoubles) {
  testing::ForEachInstructionSet([] {
    for (const uint32_t count : {1U, 7U, 16U, 26U, 312U, 768U}) {
      std::vector<float> x(count), y(count), weight(count), bias(count), out(count + 1, -5.0f);
      for (uint32_t i = 0; i < count; ++i) {
        x[i] = std::sin(static_cast<float>(i)) + 3;
        y[i] = std::cos(static_cast<float>(3 * i));
        weight[i] = 1 + static_cast<float>(i % 5);
        bias[i] = static_cast<float>(i % 3);
      }
      LayerNormRow(x.data(), y.data(), weight.data(), bias.data(), count, 1e-5f, out.data());
      double mean = 0;
      double variance = 0;
      for (uint32_t i = 0; i < count; ++i) mean += (double{x[i]} + y[i]) / count;
      for (uint32_t i = 0; i < count; ++i) variance += std::pow(x[i] + y[i] - mean, 2) / count;
      for (uint32_t i = 0; i < count; ++i) {
        const double normal = (double{x[i]} + y[i] - mean) / std::sqrt(variance + 1e-5);
        ASSERT_NEAR(out[i], normal * weight[i] + bias[i], 2e-5) << count << " " << i;
      }
      EXPECT_EQ(out[count], -5);
    }
  });
}

TEST(LayerNormRow, ConstantRowsAndNoSecondInput) {
  std::vector<float> x(20, 3.0f);
  const std::vector<float> weight(20, 2.0f);
  const std::vector<float> bias(20, 0.5f);
  LayerNormRow(x.data(), nullptr, weight.data(), bias.data(), 20, 1e-12f, x.data());
  for (const float value : x) EXPECT_EQ(value, 0.5f);
}

TEST(TanhRow, AgreesWithDoubles) {
  testing::ForEachInstructionSet([] {
    const auto x = Sweep();
    auto y = x;
    TanhRow(y.data(), static_cast<uint32_t>(y.size()));
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], std::tanh(double{x[i]}), 5e-7) << x[i];
  });
}

TEST(Dot, EveryLength) {
  testing::ForEachInstructionSet([] {
    for (uint32_t count = 0; count < 150; ++count) {
      std::vector<float> a(count);
      std::iota(a.begin(), a.end(), 1.0f);
      const std::vector<float> b(count, 2.0f);
      EXPECT_EQ(Dot(a.data(), b.data(), count), static_cast<float>(count * (count + 1)));
    }
  });
}

}  // namespace
}  // namespace sti
