#include "quant/boundaries.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

namespace sti {
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

}  // namespace sti
