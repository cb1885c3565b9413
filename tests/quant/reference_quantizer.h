// The paper's quantisation written as plainly as it can be: a stable sort and loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <vector>

namespace sti {

struct ReferenceLayer {
  std::vector<uint32_t> outliers;
  /// [bits][weights] cluster of each weight; 0 for outliers.
  std::vector<std::vector<uint32_t>> clusters = std::vector<std::vector<uint32_t>>(7);
  /// [bits][2^bits] means; 0 where a cluster is empty.
  std::vector<std::vector<double>> means = std::vector<std::vector<double>>(7);
};

inline std::vector<uint32_t> ReferenceOutliers(const std::vector<float>& weights) {
  long double sum = 0;
  for (const float w : weights) sum += w;
  const long double mean = sum / static_cast<long double>(weights.size());
  long double squares = 0;
  for (const float w : weights) squares += (w - mean) * (w - mean);
  const long double variance = squares / static_cast<long double>(weights.size()) + 1e-6L;
  std::vector<uint32_t> outliers;
  for (uint32_t i = 0; i < weights.size(); ++i) {
    const long double distance = weights[i] - mean;
    const long double log_density =
        -0.5L * std::log(2.0L * std::numbers::pi_v<long double> * variance) -
        distance * distance / (2.0L * variance);
    if (log_density < -4.0L) outliers.push_back(i);
  }
  return outliers;
}

inline ReferenceLayer ReferenceGobo(const std::vector<float>& weights) {
  ReferenceLayer layer;
  layer.outliers = ReferenceOutliers(weights);
  std::vector<bool> is_outlier(weights.size(), false);
  for (const uint32_t i : layer.outliers) is_outlier[i] = true;
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < weights.size(); ++i) {
    if (!is_outlier[i]) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return weights[a] < weights[b]; });
  const uint64_t count = order.size();
  for (uint32_t bits = 2; bits <= 6; ++bits) {
    const uint64_t clusters = uint64_t{1} << bits;
    layer.clusters[bits].assign(weights.size(), 0);
    for (uint64_t j = 0; j < clusters; ++j) {
      const uint64_t begin = j * count / clusters;
      const uint64_t end = (j + 1) * count / clusters;
      double sum = 0;
      for (uint64_t rank = begin; rank < end; ++rank) {
        sum += double{weights[order[rank]]};
        layer.clusters[bits][order[rank]] = static_cast<uint32_t>(j);
      }
      layer.means[bits].push_back(begin == end ? 0 : sum / static_cast<double>(end - begin));
    }
  }
  return layer;
}

}  // namespace sti
