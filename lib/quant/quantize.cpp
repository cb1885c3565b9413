#include "quant/quantize.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "quant/boundaries.h"

namespace sti {
namespace {

constexpr double kLogLikelihoodLimit = -4.0;  // STI 6
constexpr double kVarianceFloor = 1e-6;       // scikit-learn's reg_covar
constexpr size_t kSumChunk = 4096;

// A sum whose order is fixed and whose rounding error grows with the chunks, not with the weights.
template <typename Term>
double ChunkedSum(std::span<const float> weights, Term term) {
  double total = 0;
  for (size_t begin = 0; begin < weights.size(); begin += kSumChunk) {
    double sum = 0;
    for (float weight : weights.subspan(begin, std::min(kSumChunk, weights.size() - begin))) {
      sum += term(weight);
    }
    total += sum;
  }
  return total;
}

// The last cluster that begins at or before `rank`; empty clusters before it hold nothing.
uint8_t CodeOfRank(const Boundaries& boundaries, uint64_t rank) {
  auto after = std::upper_bound(boundaries.begin(), boundaries.begin() + kClusters, rank);
  return static_cast<uint8_t>(after - boundaries.begin() - 1);
}

// Gives each weight the code of its rank, weights taken in flat order. Only runs of equal weights
// that touch a boundary need their ranks counted; all weights between two such runs share a code.
class CodeAssigner {
 public:
  CodeAssigner(std::span<const uint32_t> sorted, const Boundaries& boundaries)
      : boundaries_(boundaries) {
    between_.push_back(CodeOfRank(boundaries, 0));
    for (uint32_t c = 1; c < kClusters && boundaries[c] < sorted.size(); ++c) {
      uint32_t key = sorted[boundaries[c]];
      if (!runs_.empty() && runs_.back().key == key) continue;
      auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), key);
      runs_.push_back({key, static_cast<uint64_t>(first - sorted.begin())});
      between_.push_back(CodeOfRank(boundaries, static_cast<uint64_t>(last - sorted.begin())));
    }
  }

  uint8_t Next(uint32_t key) {
    auto run = std::lower_bound(runs_.begin(), runs_.end(), key,
                                [](const Run& r, uint32_t k) { return r.key < k; });
    if (run != runs_.end() && run->key == key) return CodeOfRank(boundaries_, run->rank++);
    return between_[static_cast<size_t>(run - runs_.begin())];
  }

 private:
  struct Run {
    uint32_t key;
    uint64_t rank;  // of the next weight of this value
  };
  const Boundaries& boundaries_;
  std::vector<Run> runs_;         // values that stand at a boundary, ascending
  std::vector<uint8_t> between_;  // [runs + 1] the code before each run and after the last
};

// Arithmetic means in float64, in rank order, of the 2^k clusters.
std::vector<float> Centroids(std::span<const uint32_t> sorted, const Boundaries& boundaries,
                             uint32_t bits) {
  std::vector<float> centroids(size_t{1} << bits, 0.0F);
  uint32_t stride = kClusters >> bits;
  for (size_t j = 0; j < centroids.size(); ++j) {
    uint64_t begin = boundaries[j * stride];
    uint64_t end = boundaries[(j + 1) * stride];
    if (begin == end) continue;
    double sum = 0;
    for (uint64_t rank = begin; rank < end; ++rank) sum += double{ValueOfKey(sorted[rank])};
    centroids[j] = static_cast<float>(sum / static_cast<double>(end - begin));
  }
  return centroids;
}

}  // namespace

OutlierRule FitOutlierRule(std::span<const float> weights) {
  OutlierRule rule;
  if (weights.empty()) return rule;
  auto count = static_cast<double>(weights.size());
  rule.mean = ChunkedSum(weights, [](float w) { return double{w}; }) / count;
  double squares = ChunkedSum(weights, [&](float w) {
    double distance = double{w} - rule.mean;
    return distance * distance;
  });
  rule.variance = squares / count + kVarianceFloor;
  rule.peak_log_density = -0.5 * std::log(2.0 * std::numbers::pi * rule.variance);
  return rule;
}

bool OutlierRule::IsOutlier(float weight) const {
  double distance = double{weight} - mean;
  return peak_log_density - distance * distance / (2.0 * variance) < kLogLikelihoodLimit;
}

QuantizedLayer QuantizeLayer(std::span<const float> weights, CodebookKind kind) {
  QuantizedLayer layer;
  const bool scaled = kind == CodebookKind::kScaledTree;
  const OutlierRule rule = scaled ? OutlierRule{} : FitOutlierRule(weights);
  std::vector<uint32_t> sorted;
  sorted.reserve(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    if (scaled ? std::abs(weights[i]) > kScaledOutlierDistance : rule.IsOutlier(weights[i])) {
      layer.outliers.push_back(static_cast<uint32_t>(i));
    } else {
      sorted.push_back(SortKey(weights[i]));
    }
  }
  SortKeys(sorted);
  Boundaries boundaries =
      kind == CodebookKind::kGobo ? EqualPopulation(sorted.size()) : NestedLloyd(sorted);
  for (uint32_t bits = kLeastBits; bits <= kMostBits; ++bits) {
    layer.codebook.centroids[bits] = Centroids(sorted, boundaries, bits);
  }
  layer.codes.assign(weights.size(), 0);
  CodeAssigner assigner(sorted, boundaries);
  auto outlier = layer.outliers.begin();
  for (size_t i = 0; i < weights.size(); ++i) {
    if (outlier != layer.outliers.end() && *outlier == i) {
      ++outlier;
    } else {
      layer.codes[i] = assigner.Next(SortKey(weights[i]));
    }
  }
  return layer;
}

}  // namespace sti
