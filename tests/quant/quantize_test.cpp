#include "quant/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "base/half.h"
#include "reference_quantizer.h"
#include "support/random.h"

namespace sti {
namespace {

ReferenceLayer ReferenceOf(const std::vector<float>& weights, CodebookKind kind) {
  if (kind == CodebookKind::kGobo) return ReferenceGobo(weights);
  return ReferenceTree(weights, kind == CodebookKind::kTree ? ReferenceOutliers(weights)
                                                            : ReferenceFarWeights(weights));
}

void ExpectLikeReference(const std::vector<float>& weights,
                         CodebookKind kind = CodebookKind::kGobo) {
  const ReferenceLayer expected = ReferenceOf(weights, kind);
  const QuantizedLayer layer = QuantizeLayer(weights, kind);
  EXPECT_EQ(layer.outliers, expected.outliers);
  ASSERT_EQ(layer.codes.size(), weights.size());
  for (uint32_t bits = 2; bits <= 6; ++bits) {
    ASSERT_EQ(layer.codebook.centroids[bits].size(), size_t{1} << bits);
    std::vector<bool> used(size_t{1} << bits, false);
    auto outlier = expected.outliers.begin();
    for (size_t i = 0; i < weights.size(); ++i) {
      if (outlier != expected.outliers.end() && *outlier == i) {
        EXPECT_EQ(layer.codes[i], 0);
        ++outlier;
        continue;
      }
      const uint32_t code = static_cast<uint32_t>(layer.codes[i]) >> (6 - bits);
      ASSERT_EQ(code, expected.clusters[bits][i]) << "weight " << i << " bits " << bits;
      used[code] = true;
    }
    for (size_t j = 0; j < used.size(); ++j) {
      EXPECT_EQ(layer.codebook.centroids[bits][j], static_cast<float>(expected.means[bits][j]));
    }
  }
}

// Mean squared error over variance of the weights that are not outliers.
double RelativeError(const std::vector<float>& weights, const QuantizedLayer& layer,
                     uint32_t bits) {
  double mean = 0;
  for (const float w : weights) mean += double{w} / static_cast<double>(weights.size());
  double error = 0;
  double spread = 0;
  auto outlier = layer.outliers.begin();
  for (size_t i = 0; i < weights.size(); ++i) {
    if (outlier != layer.outliers.end() && *outlier == i) {
      ++outlier;
      continue;
    }
    const double seen = layer.codebook.centroids[bits][layer.codes[i] >> (6 - bits)];
    error += (weights[i] - seen) * (weights[i] - seen);
    spread += (weights[i] - mean) * (weights[i] - mean);
  }
  return error / spread;
}

std::vector<float> Halves(std::vector<float> weights) {
  for (float& w : weights) w = HalfToFloat(FloatToHalf(w));
  return weights;
}

std::vector<float> GaussianWithOutliers(uint64_t seed, size_t count) {
  TestRandom random(seed);
  std::vector<float> weights = random.Normals(count, 0.05);
  for (size_t i = 0; i < count; i += 401) weights[i] *= 7;
  return weights;
}

TEST(QuantizeGobo, EqualsThePlainReferenceOnGaussianWeights) {
  for (const uint64_t seed : {1U, 2U, 3U}) {
    const auto weights = GaussianWithOutliers(seed, 20011);
    ASSERT_FALSE(ReferenceOutliers(weights).empty());
    ExpectLikeReference(weights);
  }
}

TEST(QuantizeGobo, OrdersTiesByFlatIndex) {
  ExpectLikeReference(Halves(GaussianWithOutliers(4, 20011)));
  TestRandom random(5);
  std::vector<float> weights(3001);
  for (float& w : weights) w = static_cast<float>(random.Below(5)) * 0.01F - 0.02F;
  ExpectLikeReference(weights);
}

TEST(QuantizeGobo, ZerosOfBothSignsTie) {
  std::vector<float> weights(1000);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = i % 3 == 0 ? -0.0F : 0.0F;
  weights[17] = 0.01F;
  weights[18] = -0.01F;
  ExpectLikeReference(weights);
}

TEST(QuantizeGobo, ConstantLayersHaveNoOutliersAndOneValue) {
  const std::vector<float> weights(640, 0.25F);
  ExpectLikeReference(weights);
  const QuantizedLayer layer = QuantizeLayer(weights, CodebookKind::kGobo);
  EXPECT_TRUE(layer.outliers.empty());
  for (const float centroid : layer.codebook.centroids[6]) EXPECT_EQ(centroid, 0.25F);
}

TEST(QuantizeGobo, FewerWeightsThanClusters) {
  TestRandom random(6);
  for (size_t count = 1; count < 130; ++count) ExpectLikeReference(random.Normals(count, 0.1));
}

// Above a variance of about 474 even the peak density is under e^-4.
TEST(QuantizeGobo, HugeVarianceMakesAllWeightsOutliers) {
  TestRandom random(7);
  const auto weights = random.Normals(500, 40.0);
  ExpectLikeReference(weights);
  for (const CodebookKind kind : {CodebookKind::kGobo, CodebookKind::kTree}) {
    const QuantizedLayer layer = QuantizeLayer(weights, kind);
    EXPECT_EQ(layer.outliers.size(), weights.size());
    for (const float centroid : layer.codebook.centroids[6]) EXPECT_EQ(centroid, 0.0F);
  }
}

TEST(Quantize, AnEmptyLayerHasNothing) {
  const QuantizedLayer layer = QuantizeLayer({}, CodebookKind::kTree);
  EXPECT_TRUE(layer.codes.empty());
  EXPECT_TRUE(layer.outliers.empty());
}

TEST(OutlierRule, FitsMeanAndVarianceWithTheFloor) {
  const std::vector<float> weights{1, 2, 3, 4};
  const OutlierRule rule = FitOutlierRule(weights);
  EXPECT_DOUBLE_EQ(rule.mean, 2.5);
  EXPECT_DOUBLE_EQ(rule.variance, 1.25 + 1e-6);
  // -ln(sqrt(2 pi v)) - x^2 / 2v = -4 at x = 2.694...
  const double edge = std::sqrt((4 + rule.peak_log_density) * 2 * rule.variance);
  EXPECT_FALSE(rule.IsOutlier(static_cast<float>(2.5 + edge - 1e-3)));
  EXPECT_TRUE(rule.IsOutlier(static_cast<float>(2.5 + edge + 1e-3)));
  EXPECT_TRUE(rule.IsOutlier(static_cast<float>(2.5 - edge - 1e-3)));
}

class QuantizeTree : public ::testing::Test {
 protected:
  std::vector<float> weights_ = Halves(GaussianWithOutliers(8, 100003));
  QuantizedLayer layer_ = QuantizeLayer(weights_, CodebookKind::kTree);
};

TEST_F(QuantizeTree, KeepsTheSameOutliers) {
  EXPECT_EQ(layer_.outliers, ReferenceOutliers(weights_));
  EXPECT_FALSE(layer_.outliers.empty());
}

TEST_F(QuantizeTree, EqualValuesHaveOneCodeAndCodesAscend) {
  const OutlierRule rule = FitOutlierRule(weights_);
  std::map<float, uint8_t> codes;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (rule.IsOutlier(weights_[i])) continue;
    const auto [at, fresh] = codes.emplace(weights_[i], layer_.codes[i]);
    if (!fresh) {
      EXPECT_EQ(at->second, layer_.codes[i]) << weights_[i];
    }
  }
  ASSERT_LT(codes.size(), weights_.size() / 2) << "no ties in the test data";
  uint8_t last = 0;
  for (const auto& [value, code] : codes) {
    EXPECT_GE(code, last) << value;
    last = code;
  }
  EXPECT_EQ(last, 63);
}

TEST_F(QuantizeTree, CentroidsAreMeansOfTheirNestedClusters) {
  const OutlierRule rule = FitOutlierRule(weights_);
  for (uint32_t bits = 2; bits <= 6; ++bits) {
    std::vector<long double> sums(size_t{1} << bits);
    std::vector<uint64_t> counts(size_t{1} << bits);
    for (size_t i = 0; i < weights_.size(); ++i) {
      if (rule.IsOutlier(weights_[i])) continue;
      const size_t code = layer_.codes[i] >> (6 - bits);
      sums[code] += weights_[i];
      ++counts[code];
    }
    for (size_t j = 0; j < sums.size(); ++j) {
      ASSERT_GT(counts[j], 0U);
      const auto mean = static_cast<double>(sums[j] / static_cast<long double>(counts[j]));
      EXPECT_NEAR(layer_.codebook.centroids[bits][j], mean, std::abs(mean) * 1e-7 + 1e-12);
    }
  }
}

class QuantizeNested : public ::testing::TestWithParam<CodebookKind> {};

TEST_P(QuantizeNested, EqualsThePlainReferenceOnGaussianWeights) {
  for (const uint64_t seed : {1U, 2U}) {
    TestRandom random(seed);
    ExpectLikeReference(random.Normals(20011, 1.0), GetParam());
    ExpectLikeReference(GaussianWithOutliers(seed, 20011), GetParam());
  }
}

TEST_P(QuantizeNested, EqualsItWhereWeightsTie) {
  TestRandom random(10);
  ExpectLikeReference(Halves(random.Normals(20011, 1.0)), GetParam());
  for (const uint64_t kinds : {2U, 3U, 5U, 40U, 300U}) {
    std::vector<float> weights(3001);
    for (float& w : weights) {
      w = static_cast<float>(random.Below(kinds)) * 0.02F - static_cast<float>(kinds) * 0.01F;
    }
    ExpectLikeReference(weights, GetParam());
  }
}

// Prefix sums are kept for every 256th rank: the last of them may be that of all weights.
TEST_P(QuantizeNested, EqualsItWhereTheLastKeptSumIsOfAllWeights) {
  TestRandom random(11);
  for (const size_t count : {256U, 512U, 1024U, 4096U, 20'224U}) {
    std::vector<float> weights(count);
    for (float& w : weights) w = static_cast<float>(random.Uniform() * 0.2 - 0.1);
    ASSERT_TRUE(ReferenceOf(weights, GetParam()).outliers.empty());
    ExpectLikeReference(weights, GetParam());
  }
}

TEST_P(QuantizeNested, EqualsItOnConstantLayersAndZerosOfBothSigns) {
  for (const float value : {0.25F, -1.0F, 0.0F, 1e-30F}) {
    const std::vector<float> weights(640, value);
    ExpectLikeReference(weights, GetParam());
    const QuantizedLayer layer = QuantizeLayer(weights, GetParam());
    for (uint32_t bits = 2; bits <= 6; ++bits) {
      EXPECT_EQ(layer.codebook.centroids[bits][layer.codes[17] >> (6 - bits)], value);
    }
  }
  std::vector<float> zeros(1000);
  for (size_t i = 0; i < zeros.size(); ++i) zeros[i] = i % 3 == 0 ? -0.0F : 0.0F;
  ExpectLikeReference(zeros, GetParam());
  zeros[17] = 0.01F;
  zeros[18] = -0.01F;
  ExpectLikeReference(zeros, GetParam());
}

TEST_P(QuantizeNested, EqualsItOnFewerWeightsThanClusters) {
  TestRandom random(11);
  for (size_t count = 1; count < 130; ++count) {
    ExpectLikeReference(random.Normals(count, 1.0), GetParam());
  }
}

// No scales make all quotients as large as these; the layer is sound even so.
TEST_P(QuantizeNested, EqualsItWhereAllWeightsAreOutliers) {
  TestRandom random(12);
  std::vector<float> weights = random.Normals(500, 40.0);
  for (float& w : weights) w += w < 0 ? -4.0F : 4.0F;
  ExpectLikeReference(weights, GetParam());
  EXPECT_EQ(QuantizeLayer(weights, GetParam()).outliers.size(), weights.size());
}

INSTANTIATE_TEST_SUITE_P(Codebooks, QuantizeNested,
                         ::testing::Values(CodebookKind::kTree, CodebookKind::kScaledTree),
                         [](const auto& name) {
                           return name.param == CodebookKind::kTree ? "Tree" : "ScaledTree";
                         });

// Known figures for Gaussian weights, mean squared error over variance.
TEST(Quantize, ErrorsAreTheMeasuredOnes) {
  TestRandom random(9);
  const auto weights = random.Normals(400000, 0.05);
  const QuantizedLayer gobo = QuantizeLayer(weights, CodebookKind::kGobo);
  const QuantizedLayer tree = QuantizeLayer(weights, CodebookKind::kTree);
  const double gobo_figures[] = {0.137, 0.053, 0.0210, 0.0083, 0.0033};
  const double tree_figures[] = {0.116, 0.034, 0.0093, 0.0024, 0.00062};
  for (uint32_t bits = 2; bits <= 6; ++bits) {
    const double gobo_error = RelativeError(weights, gobo, bits);
    const double tree_error = RelativeError(weights, tree, bits);
    EXPECT_NEAR(gobo_error, gobo_figures[bits - 2], 0.1 * gobo_figures[bits - 2]) << bits;
    EXPECT_NEAR(tree_error, tree_figures[bits - 2], 0.1 * tree_figures[bits - 2]) << bits;
    EXPECT_LT(tree_error, gobo_error) << bits;
  }
}

std::vector<uint32_t> SortedKeys(const std::vector<float>& values) {
  std::vector<uint32_t> keys;
  for (const float value : values) keys.push_back(SortKey(value));
  std::sort(keys.begin(), keys.end());
  return keys;
}

void ExpectSound(const std::vector<uint32_t>& keys, const Boundaries& boundaries) {
  EXPECT_EQ(boundaries.front(), 0U);
  EXPECT_EQ(boundaries.back(), keys.size());
  EXPECT_TRUE(std::is_sorted(boundaries.begin(), boundaries.end()));
  for (const uint64_t edge : boundaries) {
    if (edge == 0 || edge >= keys.size()) continue;
    EXPECT_NE(keys[edge - 1], keys[edge]) << "equal values parted at rank " << edge;
  }
}

TEST(EqualPopulation, IsTheFloorOfEachShare) {
  for (const uint64_t count : {0UL, 1UL, 63UL, 64UL, 65UL, 7077888UL, 4294967295UL}) {
    const Boundaries boundaries = EqualPopulation(count);
    for (uint64_t j = 0; j <= kClusters; ++j) {
      EXPECT_LE(boundaries[j] * 64, j * count);
      EXPECT_GT((boundaries[j] + 1) * 64, j * count);
    }
  }
}

TEST(NestedLloyd, NeverPartsEqualValues) {
  TestRandom random(1);
  for (const int kinds : {1, 2, 3, 5, 64, 65, 300}) {
    std::vector<float> values(4000);
    for (float& value : values) {
      value = static_cast<float>(std::round(random.Normal() * kinds / 3.0)) / 64.0F;
    }
    const auto keys = SortedKeys(values);
    ExpectSound(keys, NestedLloyd(keys));
  }
}

TEST(NestedLloyd, IsSoundOnFewAndNoWeights) {
  TestRandom random(2);
  for (size_t count = 0; count < 70; ++count) {
    const auto keys = SortedKeys(random.Normals(count, 0.1));
    ExpectSound(keys, NestedLloyd(keys));
  }
}

// Values of all magnitudes cancel badly in sums; the boundaries must stay in order even so.
TEST(NestedLloyd, IsSoundOnAllMagnitudes) {
  TestRandom random(3);
  for (int round = 0; round < 400; ++round) {
    std::vector<float> values(1 + random.Below(200));
    for (float& value : values) {
      const double magnitude = std::pow(10.0, -30.0 * random.Uniform() * random.Uniform());
      value = static_cast<float>((random.Uniform() < 0.5 ? -20 : 20) * magnitude);
    }
    const auto keys = SortedKeys(values);
    ExpectSound(keys, NestedLloyd(keys));
  }
}

TEST(NestedLloyd, SeparatesFourFarGroups) {
  std::vector<float> values;
  for (const float centre : {-9.0F, -1.0F, 2.0F, 30.0F}) {
    for (int i = 0; i < 100; ++i) values.push_back(centre + static_cast<float>(i) * 1e-4F);
  }
  const Boundaries boundaries = NestedLloyd(SortedKeys(values));
  EXPECT_EQ(boundaries[16], 100U);
  EXPECT_EQ(boundaries[32], 200U);
  EXPECT_EQ(boundaries[48], 300U);
}

TEST(SortKey, OrdersLikeTheValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  const float ascending[] = {-kInfinity, -3e38F, -1.0F,  -0.99999994F, -1e-38F, -kTiny,   0.0F,
                             kTiny,      1e-38F, 0.999F, 1.0F,         3e38F,   kInfinity};
  for (size_t i = 1; i < std::size(ascending); ++i) {
    EXPECT_LT(SortKey(ascending[i - 1]), SortKey(ascending[i])) << ascending[i];
  }
}

TEST(SortKey, ZerosOfBothSignsAreOneValue) {
  EXPECT_EQ(SortKey(-0.0F), SortKey(0.0F));
  EXPECT_FALSE(std::signbit(ValueOfKey(SortKey(-0.0F))));
}

TEST(SortKey, GivesTheValueBack) {
  TestRandom random(1);
  for (int i = 0; i < 10000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random.Next()));
    if (std::isnan(value) || value == 0) continue;
    EXPECT_EQ(ValueOfKey(SortKey(value)), value);
  }
}

TEST(SortKeys, SortsLikeTheStandardLibrary) {
  TestRandom random(2);
  for (const size_t count : {0U, 1U, 2U, 63U, 1000U, 100003U}) {
    std::vector<uint32_t> keys(count);
    for (uint32_t& key : keys) key = static_cast<uint32_t>(random.Next());
    std::vector<uint32_t> expected = keys;
    std::sort(expected.begin(), expected.end());
    SortKeys(keys);
    EXPECT_EQ(keys, expected) << count;
  }
}

TEST(SortKeys, SortsManyTiesAndNarrowRanges) {
  TestRandom random(3);
  std::vector<uint32_t> keys(5000);
  for (uint32_t& key : keys) key = 0xFFFFFFFFU - static_cast<uint32_t>(random.Below(7)) * 2048;
  std::vector<uint32_t> expected = keys;
  std::sort(expected.begin(), expected.end());
  SortKeys(keys);
  EXPECT_EQ(keys, expected);
}

}  // namespace

}  // namespace sti
