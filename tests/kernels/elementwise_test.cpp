#include "kernels/elementwise.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/instruction_sets.h"
#include "kernels/numbers.h"

namespace sti {
namespace {

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

// Sixteenths up to 8, where pieces of a curve meet, with the floats beside them.
std::vector<float> Joints() {
  std::vector<float> x;
  for (int i = -128; i <= 128; ++i) {
    const float joint = static_cast<float>(i) / 16;
    for (const float toward : {-kInfinity, joint, kInfinity}) {
      x.push_back(std::nextafter(joint, toward));
    }
  }
  return x;
}

// The grids above, finer where the curve bends, and a number from every thousandth of the range of
// floats, both tails and denormals among them.
std::vector<float> FineGrid() {
  std::vector<float> x = Sweep();
  const std::vector<float> joints = Joints();
  x.insert(x.end(), joints.begin(), joints.end());
  for (int i = -80000; i <= 80000; ++i) x.push_back(static_cast<float>(i) / 12345);
  for (uint32_t bits = 0; bits < 0x7F800000U; bits += 20011) {
    x.push_back(std::bit_cast<float>(bits));
    x.push_back(-x.back());
  }
  x.push_back(std::numeric_limits<float>::max());
  x.push_back(std::numeric_limits<float>::lowest());
  return x;
}

// Largest error over the grid; where no float is as near as `bound`, the nearest float will do.
double WorstError(Activation activation, const std::vector<float>& x, double (*exact)(double)) {
  auto y = x;
  Activate(activation, y.data(), y.size(), 1, static_cast<uint32_t>(y.size()));
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = exact(x[i]);
    if (!std::isfinite(y[i])) return kInfinity;
    if (y[i] != static_cast<float>(expected)) worst = std::max(worst, std::abs(y[i] - expected));
  }
  return worst;
}

TEST(Activate, GeluIsWithinHalfAMillionthOfTheErfForm) {
  const auto x = FineGrid();
  testing::ForEachInstructionSet(
      [&] { EXPECT_LT(WorstError(Activation::kGelu, x, ExactGelu), 5e-7); });
}

// Sixteen lanes hold a table: nearer to the erf form than the polynomial of the other sets, and
// without an error of its own at zero and where x * Phi(x) is x or 0.
TEST(Activate, GeluOfSixteenLanesIsNearerAndExactAtItsEnds) {
  if (!LimitInstructionSet("avx512")) GTEST_SKIP() << "this CPU has no AVX-512";
  EXPECT_LT(WorstError(Activation::kGelu, FineGrid(), ExactGelu), 2.6e-7);
  const std::vector<float> x = {0.0f,   -0.0f, 1e-40f, -1e-40f, 1e-20f,    -1e-20f,
                                5.625f, 6.0f,  3e38f,  -5.625f, -kInfinity};
  const std::vector<float> expected = {0,      0,    5e-41f, -5e-41f, 5e-21f, -5e-21f,
                                       5.625f, 6.0f, 3e38f,  0,       0};
  auto y = x;
  Activate(Activation::kGelu, y.data(), y.size(), 1, static_cast<uint32_t>(y.size()));
  EXPECT_EQ(y, expected);
  LimitInstructionSet("");
}

TEST(Activate, GeluTanhIsWithinItsBound) {
  const auto x = FineGrid();
  testing::ForEachInstructionSet(
      [&] { EXPECT_LT(WorstError(Activation::kGeluTanh, x, ExactGeluTanh), 2e-6); });
}

TEST(Activate, Relu) {
  testing::ForEachInstructionSet([] {
    const auto x = Sweep();
    auto y = x;
    Activate(Activation::kRelu, y.data(), y.size(), 1, static_cast<uint32_t>(y.size()));
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], std::max(x[i], 0.0f));
  });
}

// Rows of every width, one number for each: as many whole vectors and as long an end as there are.
TEST(Activate, GivesEachNumberTheSameWhereverItLiesAndStaysWithinItsRows) {
  constexpr uint32_t kRows = 3;
  constexpr uint32_t kMaxWidth = 35;
  constexpr uint32_t kStride = kMaxWidth + 2;
  std::vector<float> x(size_t{kRows} * kStride);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) / 9 - 6;
  testing::ForEachInstructionSet([&] {
    for (const Activation kind : {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu}) {
      auto alone = x;
      for (float& number : alone) Activate(kind, &number, 1, 1, 1);
      for (uint32_t width = 0; width <= kMaxWidth; ++width) {
        auto y = x;
        Activate(kind, y.data(), kStride, kRows, width);
        for (size_t i = 0; i < y.size(); ++i) {
          ASSERT_EQ(y[i], i % kStride < width ? alone[i] : x[i]) << width << " " << i;
        }
      }
    }
  });
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

TEST(AddTo, AddsAsManyAsItIsTold) {
  testing::ForEachInstructionSet([] {
    for (uint32_t count = 0; count < 70; ++count) {
      std::vector<float> x(count + 1);
      std::iota(x.begin(), x.end(), 1.0f);
      std::vector<float> sums(count + 1, 0.5f);
      AddTo(x.data(), count, sums.data());
      for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(sums[i], x[i] + 0.5f);
      EXPECT_EQ(sums[count], 0.5f);
    }
  });
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
