// The quantisation of spec/container.md written as plainly as it can be: a stable sort and loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <utility>
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

/// Outliers of the scaled tree, whose weights are divided by their scales.
inline std::vector<uint32_t> ReferenceFarWeights(const std::vector<float>& weights) {
  std::vector<uint32_t> outliers;
  for (uint32_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 3 || weights[i] < -3) outliers.push_back(i);
  }
  return outliers;
}

/// Indexes of the weights that are not outliers, by value, equal ones by index.
inline std::vector<uint32_t> ReferenceOrder(const std::vector<float>& weights,
                                            const std::vector<uint32_t>& outliers) {
  std::vector<bool> is_outlier(weights.size(), false);
  for (const uint32_t i : outliers) is_outlier[i] = true;
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < weights.size(); ++i) {
    if (!is_outlier[i]) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return weights[a] < weights[b]; });
  return order;
}

inline ReferenceLayer ReferenceGobo(const std::vector<float>& weights) {
  ReferenceLayer layer;
  layer.outliers = ReferenceOutliers(weights);
  const std::vector<uint32_t> order = ReferenceOrder(weights, layer.outliers);
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

/// Nested Lloyd over sorted values. Sums are those of one array of prefix sums, as the document
/// says, since other roundings may choose other boundaries.
class ReferenceTreeEdges {
 public:
  explicit ReferenceTreeEdges(std::vector<double> values) : values_(std::move(values)) {
    sums_.push_back(0);
    for (const double value : values_) sums_.push_back(sums_.back() + value);
  }

  /// 65 ranks.
  [[nodiscard]] std::vector<uint64_t> Nested() const {
    std::vector<uint64_t> edges = Lloyd(0, values_.size(), 4);
    while (edges.size() < 65) {
      std::vector<uint64_t> finer{0};
      for (size_t i = 0; i + 1 < edges.size(); ++i) {
        const std::vector<uint64_t> halves = Lloyd(edges[i], edges[i + 1], 2);
        finer.push_back(halves[1]);
        finer.push_back(halves[2]);
      }
      edges = finer;
    }
    return edges;
  }

 private:
  [[nodiscard]] double Mean(uint64_t begin, uint64_t end) const {
    return (sums_[end] - sums_[begin]) / static_cast<double>(end - begin);
  }

  [[nodiscard]] uint64_t FirstNotBelow(double limit, uint64_t begin, uint64_t end) const {
    while (begin < end && values_[begin] < limit) ++begin;
    return begin;
  }

  // Ranks from `begin` to `end` in `parts`: cut evenly, then moved until nothing moves.
  [[nodiscard]] std::vector<uint64_t> Lloyd(uint64_t begin, uint64_t end, uint64_t parts) const {
    std::vector<uint64_t> edges{begin};
    for (uint64_t i = 1; i < parts; ++i) {
      const uint64_t rank = begin + (end - begin) * i / parts;
      edges.push_back(rank == end ? end : FirstNotBelow(values_[rank], begin, end));
    }
    edges.push_back(end);
    for (int round = 0; round < 200; ++round) {
      std::vector<uint64_t> next = edges;
      for (size_t i = 1; i < parts; ++i) {
        if (edges[i - 1] < edges[i] && edges[i] < edges[i + 1]) {
          const double middle = (Mean(edges[i - 1], edges[i]) + Mean(edges[i], edges[i + 1])) / 2;
          next[i] = FirstNotBelow(middle, begin, end);
        }
        next[i] = std::max(next[i], next[i - 1]);
      }
      if (next == edges) break;
      edges = next;
    }
    return edges;
  }

  std::vector<double> values_;
  std::vector<double> sums_;
};

inline ReferenceLayer ReferenceTree(const std::vector<float>& weights,
                                    const std::vector<uint32_t>& outliers) {
  ReferenceLayer layer;
  layer.outliers = outliers;
  const std::vector<uint32_t> order = ReferenceOrder(weights, outliers);
  std::vector<double> values;
  for (const uint32_t i : order) values.push_back(weights[i] == 0 ? 0.0 : double{weights[i]});
  const std::vector<uint64_t> edges = ReferenceTreeEdges(values).Nested();
  for (uint32_t bits = 2; bits <= 6; ++bits) {
    layer.clusters[bits].assign(weights.size(), 0);
    const size_t stride = size_t{64} >> bits;
    for (uint32_t j = 0; j < uint32_t{1} << bits; ++j) {
      const uint64_t begin = edges[j * stride];
      const uint64_t end = edges[(j + 1) * stride];
      double sum = 0;
      for (uint64_t rank = begin; rank < end; ++rank) {
        sum += values[rank];
        layer.clusters[bits][order[rank]] = j;
      }
      layer.means[bits].push_back(begin == end ? 0 : sum / static_cast<double>(end - begin));
    }
  }
  return layer;
}

}  // namespace sti
