#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "kernels/elementwise.h"
#include "kernels/instruction_sets.h"

namespace sti {
namespace {

using Doubles = std::vector<double>;

double GeluSlope(double x) {
  return std::erfc(-x / std::sqrt(2.0)) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
}

double GeluTanhSlope(double x) {
  const double root = std::sqrt(2 / M_PI);
  const double t = std::tanh(root * (x + 0.044715 * x * x * x));
  return (1 + t) / 2 + x / 2 * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
}

double ReluSlope(double x) { return x > 0 ? 1 : 0; }

// From -30 to 30, densely, and far out; the count is no multiple of a vector.
std::vector<float> InputGrid() {
  std::vector<float> x;
  for (int i = -30000; i <= 30000; ++i) x.push_back(static_cast<float>(i) / 1000);
  for (const float far : {100.0F, 1e10F, std::numeric_limits<float>::max()}) {
    x.push_back(far);
    x.push_back(-far);
  }
  return x;
}

TEST(ActivationGradient, IsTheSlopeTimesTheGradient) {
  const std::vector<float> x = InputGrid();
  const auto count = static_cast<uint32_t>(x.size());
  const std::pair<Activation, double (*)(double)> forms[] = {{Activation::kGelu, GeluSlope},
                                                             {Activation::kGeluTanh, GeluTanhSlope},
                                                             {Activation::kRelu, ReluSlope}};
  testing::ForEachInstructionSet([&] {
    for (const auto& [activation, exact] : forms) {
      std::vector<float> gradient(count, 1.0F);
      ActivationGradient(activation, x.data(), count, gradient.data());
      std::vector<float> twice(count, -2.0F);
      ActivationGradient(activation, x.data(), count, twice.data());
      for (uint32_t i = 0; i < count; ++i) {
        // Where the cube of x is infinite, the form has no number; the slope there is 0 or 1.
        const double expected = std::abs(x[i]) > 50 ? ReluSlope(x[i]) : exact(x[i]);
        ASSERT_NEAR(gradient[i], expected, 3e-6) << x[i];
        ASSERT_EQ(twice[i], -2 * gradient[i]) << x[i];
      }
    }
  });
}

TEST(ActivationGradient, NaNStaysNaN) {
  const std::vector<float> x(5, std::numeric_limits<float>::quiet_NaN());
  testing::ForEachInstructionSet([&] {
    for (const Activation activation : {Activation::kGelu, Activation::kGeluTanh}) {
      std::vector<float> gradient(5, 1.0F);
      ActivationGradient(activation, x.data(), 5, gradient.data());
      for (const float g : gradient) EXPECT_TRUE(std::isnan(g));
    }
  });
}

Doubles Random(size_t count, double spread, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, spread);
  Doubles numbers(count);
  for (double& x : numbers) x = static_cast<float>(normal(random));
  return numbers;
}

std::vector<float> Floats(const Doubles& numbers) { return {numbers.begin(), numbers.end()}; }

double Along(const Doubles& y, const Doubles& direction) {
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += y[i] * direction[i];
  return sum;
}

// How <f(x), direction> grows with each number of x, by central differences.
void ExpectIsGradient(const std::function<Doubles(const Doubles&)>& f, const Doubles& x,
                      const Doubles& direction, const std::vector<float>& gradient) {
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < x.size(); ++i) {
    Doubles more = x;
    Doubles less = x;
    more[i] += kStep;
    less[i] -= kStep;
    const double slope = (Along(f(more), direction) - Along(f(less), direction)) / (2 * kStep);
    ASSERT_NEAR(gradient[i], slope, 2e-6 * (1 + std::abs(slope))) << i << " of " << x.size();
  }
}

TEST(LayerNormGradientRow, AgreesWithDifferences) {
  constexpr float kEps = 0x1p-17F;
  testing::ForEachInstructionSet([] {
    for (const uint32_t count : {2U, 7U, 33U, 48U}) {
      const Doubles x = Random(count, 2, count);
      const Doubles weight = Random(count, 1, count + 1);
      const Doubles direction = Random(count, 1, count + 2);
      const auto norm = [&](const Doubles& in) {
        double mean = 0;
        double variance = 0;
        for (const double v : in) mean += v / count;
        for (const double v : in) variance += (v - mean) * (v - mean) / count;
        Doubles out(in);
        for (size_t i = 0; i < in.size(); ++i) {
          out[i] = (in[i] - mean) / std::sqrt(variance + kEps) * weight[i];
        }
        return out;
      };
      std::vector<float> gradient = Floats(direction);
      LayerNormGradientRow(Floats(x).data(), Floats(weight).data(), count, kEps, gradient.data());
      ExpectIsGradient(norm, x, direction, gradient);
    }
  });
}

Doubles Softmax(const Doubles& x, double scale) {
  Doubles p(x);
  double sum = 0;
  for (double& v : p) sum += v = std::exp(v * scale);
  for (double& v : p) v /= sum;
  return p;
}

TEST(SoftmaxGradientRow, AgreesWithDifferences) {
  constexpr float kScale = 0.25F;
  testing::ForEachInstructionSet([] {
    for (const uint32_t count : {1U, 5U, 16U, 37U}) {
      const Doubles x = Random(count, 3, count);
      const Doubles direction = Random(count, 1, count + 2);
      std::vector<float> gradient = Floats(direction);
      SoftmaxGradientRow(Floats(Softmax(x, kScale)).data(), count, kScale, gradient.data());
      ExpectIsGradient([](const Doubles& in) { return Softmax(in, kScale); }, x, direction,
                       gradient);
    }
  });
}

}  // namespace
}  // namespace sti
