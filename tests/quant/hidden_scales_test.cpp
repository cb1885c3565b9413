#include <gtest/gtest.h>

#include <cmath>

#include "base/half.h"
#include "quant/quantize.h"
#include "support/random.h"

namespace sti {
namespace {

constexpr ModelShape kShape{.layers = 1, .width = 2, .hidden = 6, .ffn = 10};
constexpr uint64_t kLayer = 4 * 36 + 2 * 60;

// Where the weights of one channel of a matrix stand, by the definition.
std::vector<uint64_t> ChannelOf(uint32_t matrix, uint32_t channel) {
  const uint64_t first = matrix <= 4 ? matrix * 36U : 4 * 36U + 60U;
  const bool by_row = matrix == 3 || matrix == 5;
  const uint64_t columns = matrix == 5 ? 10 : 6;
  const uint64_t rows = matrix == 4 ? 10 : 6;
  std::vector<uint64_t> flat;
  for (uint64_t i = 0; i < (by_row ? columns : rows); ++i) {
    flat.push_back(first + (by_row ? channel * columns + i : i * columns + channel));
  }
  return flat;
}

TEST(HiddenScales, AreTheRootMeanSquaresOfChannels) {
  TestRandom random(3);
  const auto weights = random.Normals(kLayer, 0.05);
  const auto scales = FitHiddenScales(weights, kShape);
  ASSERT_EQ(scales.size(), 36U);
  for (uint32_t matrix = 0; matrix < 6; ++matrix) {
    for (uint32_t channel = 0; channel < 6; ++channel) {
      double squares = 0;
      const auto flat = ChannelOf(matrix, channel);
      for (const uint64_t at : flat) squares += double{weights[at]} * weights[at];
      const double root = std::sqrt(squares / static_cast<double>(flat.size()));
      const float scale = scales[matrix * 6 + channel];
      EXPECT_NEAR(scale, root, root / 256) << matrix << " " << channel;
      EXPECT_EQ(scale, BFloatToFloat(FloatToBFloat(scale)));
    }
  }
}

TEST(HiddenScales, DivideWhatTheyWereFittedTo) {
  TestRandom random(4);
  const auto weights = random.Normals(kLayer, 0.05);
  const auto scales = FitHiddenScales(weights, kShape);
  auto divided = weights;
  DivideByHiddenScales(scales, kShape, divided);
  for (uint32_t matrix = 0; matrix < 6; ++matrix) {
    for (uint32_t channel = 0; channel < 6; ++channel) {
      for (const uint64_t at : ChannelOf(matrix, channel)) {
        EXPECT_EQ(divided[at], weights[at] / scales[matrix * 6 + channel]);
      }
    }
  }
}

// A channel of zeros, and one of weights too small to have a root mean square, keep their weights.
TEST(HiddenScales, ChannelsWithoutASpreadHaveTheScaleOne) {
  std::vector<float> weights(kLayer, 0.5F);
  for (const uint64_t at : ChannelOf(2, 4)) weights[at] = 0;
  for (const uint64_t at : ChannelOf(5, 1)) weights[at] = 1e-44F;
  const auto scales = FitHiddenScales(weights, kShape);
  EXPECT_EQ(scales[2 * 6 + 4], 1.0F);
  EXPECT_EQ(scales[5 * 6 + 1], 1.0F);
  EXPECT_EQ(scales[0], 0.5F);
}

TEST(HiddenScales, HugeWeightsStayFinite) {
  std::vector<float> weights(kLayer, 3.4e38F);
  const auto scales = FitHiddenScales(weights, kShape);
  DivideByHiddenScales(scales, kShape, weights);
  for (const float weight : weights) EXPECT_TRUE(std::isfinite(weight));
  for (const float scale : scales) EXPECT_TRUE(std::isnormal(scale));
}

// A layer whose channels differ in spread is what scales are for.
TEST(HiddenScales, MakeTheErrorOfUnevenChannelsSmaller) {
  constexpr ModelShape shape{.layers = 1, .width = 2, .hidden = 64, .ffn = 64};
  TestRandom random(5);
  auto weights = random.Normals(uint64_t{6} * 64 * 64, 0.05);
  std::vector<float> spreads(size_t{6} * 64);
  for (size_t i = 0; i < spreads.size(); ++i) spreads[i] = 16.0F / static_cast<float>(i % 64 + 1);
  DivideByHiddenScales(spreads, shape, weights);
  const auto scales = FitHiddenScales(weights, shape);
  auto divided = weights;
  DivideByHiddenScales(scales, shape, divided);
  const QuantizedLayer plain = QuantizeLayer(weights, CodebookKind::kTree);
  const QuantizedLayer scaled = QuantizeLayer(divided, CodebookKind::kScaledTree);
  const auto error = [&](const QuantizedLayer& layer, bool is_scaled) {
    std::vector<bool> outlier(weights.size(), false);
    for (const uint32_t at : layer.outliers) outlier[at] = true;
    double sum = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      if (outlier[i]) continue;
      const double centroid = layer.codebook.centroids[2][layer.codes[i] >> 4];
      const double scale = is_scaled ? weights[i] / double{divided[i]} : 1.0;
      sum += std::pow(weights[i] - centroid * scale, 2);
    }
    return sum;
  };
  EXPECT_LT(error(scaled, true), 0.9 * error(plain, false));
}

TEST(QuantizeScaledTree, OutliersAreFurtherThanTheLimit) {
  TestRandom random(6);
  const auto weights = random.Normals(20000, 1.0);
  const QuantizedLayer layer = QuantizeLayer(weights, CodebookKind::kScaledTree);
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < weights.size(); ++i) {
    if (std::abs(weights[i]) > kScaledOutlierDistance) expected.push_back(i);
  }
  EXPECT_EQ(layer.outliers, expected);
  EXPECT_FALSE(expected.empty());
}

}  // namespace
}  // namespace sti
