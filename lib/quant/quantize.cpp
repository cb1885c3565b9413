#include "quant/quantize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/half.h"
#include "network/tensors.h"

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

namespace {

constexpr int kMaxRounds = 200;
constexpr uint32_t kFirstClusters = 4;

// Sums of values over ranges of ranks, by prefix sums in rank order. Only every so many are kept;
// those between are added up again when asked for, in the same order and so to the same bits.
class RangeSums {
 public:
  explicit RangeSums(std::span<const uint32_t> keys) : keys_(keys) {
    sums_.reserve(keys.size() / kStride + 1);
    double sum = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (i % kStride == 0) sums_.push_back(sum);
      sum += double{ValueOfKey(keys[i])};
    }
    if (keys.size() % kStride == 0) sums_.push_back(sum);
  }

  [[nodiscard]] double Mean(uint64_t begin, uint64_t end) const {
    return (SumTo(end) - SumTo(begin)) / static_cast<double>(end - begin);
  }

  // First rank in [begin, end) whose value is at least `limit`.
  [[nodiscard]] uint64_t RankOf(double limit, uint64_t begin, uint64_t end) const {
    auto first = keys_.begin() + static_cast<ptrdiff_t>(begin);
    auto last = keys_.begin() + static_cast<ptrdiff_t>(end);
    auto found = std::lower_bound(first, last, limit, [](uint32_t key, double value) {
      return double{ValueOfKey(key)} < value;
    });
    return begin + static_cast<uint64_t>(found - first);
  }

 private:
  static constexpr uint64_t kStride = 256;

  [[nodiscard]] double SumTo(uint64_t rank) const {
    double sum = sums_[rank / kStride];
    for (uint64_t i = rank - rank % kStride; i < rank; ++i) sum += double{ValueOfKey(keys_[i])};
    return sum;
  }

  std::span<const uint32_t> keys_;
  std::vector<double> sums_;  ///< of the first kStride * i values
};

// Lloyd's algorithm on `edges`, whose first and last entries stay. A cluster that runs empty keeps
// its edges, which makes it stay empty: its neighbours share what it had.
void Refine(const RangeSums& sums, std::span<uint64_t> edges) {
  for (int round = 0; round < kMaxRounds; ++round) {
    bool moved = false;
    std::vector<uint64_t> next(edges.begin(), edges.end());
    for (size_t i = 1; i + 1 < edges.size(); ++i) {
      if (edges[i - 1] != edges[i] && edges[i] != edges[i + 1]) {
        double middle =
            (sums.Mean(edges[i - 1], edges[i]) + sums.Mean(edges[i], edges[i + 1])) / 2.0;
        next[i] = sums.RankOf(middle, edges.front(), edges.back());
      }
      // Means from prefix sums round; edges keep their order all the same.
      next[i] = std::max(next[i], next[i - 1]);
      moved = moved || next[i] != edges[i];
    }
    std::copy(next.begin(), next.end(), edges.begin());
    if (!moved) return;
  }
}

// A first cut of [begin, end) into `edges.size() - 1` parts of equal population, moved to the start
// of a run of equal values.
void CutEvenly(const RangeSums& sums, std::span<const uint32_t> keys, std::span<uint64_t> edges) {
  uint64_t begin = edges.front();
  uint64_t end = edges.back();
  uint64_t parts = edges.size() - 1;
  for (uint64_t i = 1; i < parts; ++i) {
    uint64_t rank = begin + (end - begin) * i / parts;
    edges[i] = rank >= end ? end : sums.RankOf(double{ValueOfKey(keys[rank])}, begin, end);
  }
}

}  // namespace

Boundaries EqualPopulation(uint64_t count) {
  Boundaries boundaries{};
  for (uint64_t j = 0; j <= kClusters; ++j) boundaries[j] = j * count / kClusters;
  return boundaries;
}

Boundaries NestedLloyd(std::span<const uint32_t> sorted_keys) {
  RangeSums sums(sorted_keys);
  std::vector<uint64_t> edges(kFirstClusters + 1, 0);
  edges.back() = sorted_keys.size();
  CutEvenly(sums, sorted_keys, edges);
  Refine(sums, edges);
  while (edges.size() < kClusters + 1) {
    std::vector<uint64_t> finer;
    for (size_t i = 0; i + 1 < edges.size(); ++i) {
      std::array<uint64_t, 3> halves{edges[i], edges[i], edges[i + 1]};
      CutEvenly(sums, sorted_keys, halves);
      Refine(sums, halves);
      finer.push_back(halves[0]);
      finer.push_back(halves[1]);
    }
    finer.push_back(edges.back());
    edges = std::move(finer);
  }
  Boundaries boundaries{};
  std::copy(edges.begin(), edges.end(), boundaries.begin());
  return boundaries;
}

namespace {

constexpr uint32_t kSign = 0x80000000U;
constexpr int kDigitBits = 11;
constexpr uint32_t kDigits = 1U << kDigitBits;
constexpr int kPasses = 3;

uint32_t DigitOf(uint32_t key, int pass) { return (key >> (pass * kDigitBits)) & (kDigits - 1); }

}  // namespace

uint32_t SortKey(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (bits == kSign) bits = 0;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

float ValueOfKey(uint32_t key) {
  return std::bit_cast<float>((key & kSign) != 0 ? key & ~kSign : ~key);
}

void SortKeys(std::vector<uint32_t>& keys) {
  std::vector<std::array<uint32_t, kPasses>> counts(kDigits);
  for (uint32_t key : keys) {
    for (int pass = 0; pass < kPasses; ++pass) ++counts[DigitOf(key, pass)][pass];
  }
  std::vector<uint32_t> other(keys.size());
  for (int pass = 0; pass < kPasses; ++pass) {
    std::array<uint32_t, kDigits> next{};
    uint32_t begin = 0;
    for (uint32_t digit = 0; digit < kDigits; ++digit) {
      next[digit] = begin;
      begin += counts[digit][pass];
    }
    for (uint32_t key : keys) other[next[DigitOf(key, pass)]++] = key;
    keys.swap(other);
  }
}

namespace {

// Whether hidden channels are a matrix's rows, since slices share all of its outputs; else they are
// its columns.
bool HasChannelsInRows(const TensorSpec& matrix) { return IsCutByInputs(matrix); }

// Calls visit(row, scales) for each row of a layer. `scales` are those of its columns, or the one
// of the row; `row` is where it begins in the layer.
template <typename Visit>
void ForEachRow(const ModelShape& shape, const Visit& visit) {
  uint64_t at = 0;
  uint64_t scales = 0;
  for (const TensorSpec& matrix : TensorsAt(Home::kShard)) {
    const TensorSize size = SizeOf(matrix, shape);
    const bool by_row = HasChannelsInRows(matrix);
    for (uint64_t row = 0; row < size.rows; ++row) {
      visit(at, size.columns, scales + (by_row ? row : 0), by_row);
      at += size.columns;
    }
    scales += shape.hidden;
  }
}

float RoundedRoot(double mean_square) {
  const float rounded = BFloatToFloat(FloatToBFloat(static_cast<float>(std::sqrt(mean_square))));
  return std::isnormal(rounded) ? rounded : 1.0F;
}

}  // namespace

std::vector<float> FitHiddenScales(std::span<const float> weights, const ModelShape& shape) {
  std::vector<double> squares(CountAt(Home::kShard) * shape.hidden, 0.0);
  ForEachRow(shape, [&](uint64_t row, uint64_t columns, uint64_t first, bool by_row) {
    for (uint64_t c = 0; c < columns; ++c) {
      const double weight = weights[row + c];
      squares[first + (by_row ? 0 : c)] += weight * weight;
    }
  });
  std::vector<float> scales(squares.size());
  for (size_t i = 0; i < scales.size(); ++i) {
    const TensorSpec& matrix = TensorsAt(Home::kShard)[i / shape.hidden];
    const TensorSize size = SizeOf(matrix, shape);
    const auto count = static_cast<double>(HasChannelsInRows(matrix) ? size.columns : size.rows);
    scales[i] = RoundedRoot(squares[i] / count);
  }
  return scales;
}

void DivideByHiddenScales(std::span<const float> scales, const ModelShape& shape,
                          std::span<float> weights) {
  ForEachRow(shape, [&](uint64_t row, uint64_t columns, uint64_t first, bool by_row) {
    for (uint64_t c = 0; c < columns; ++c) weights[row + c] /= scales[first + (by_row ? 0 : c)];
  });
}

}  // namespace sti
