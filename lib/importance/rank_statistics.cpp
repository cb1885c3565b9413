#include "importance/rank_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>

#include "types/importance.h"
#include "types/rank_correlation.h"

namespace sti {
namespace {

using Order = std::vector<size_t>;

Order Sorted(size_t count, const std::function<bool(size_t, size_t)>& before) {
  Order order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

// How many pairs of `count` elements in order are equal, given when neighbours are.
double EqualPairs(size_t count, const std::function<bool(size_t)>& equals_next) {
  double pairs = 0;
  size_t run = 0;  // equals before this element in its run
  for (size_t i = 0; i + 1 < count; ++i) {
    run = equals_next(i) ? run + 1 : 0;
    pairs += static_cast<double>(run);
  }
  return pairs;
}

// Pairs that stand in falling order; sorts `values` (merge sort, Knight 1966).
double SortCountingSwaps(std::span<double> values) {
  if (values.size() < 2) return 0;
  const size_t half = values.size() / 2;
  double swaps = SortCountingSwaps(values.first(half)) + SortCountingSwaps(values.subspan(half));
  std::vector<double> merged;
  merged.reserve(values.size());
  size_t left = 0;
  for (size_t right = half; right < values.size(); ++right) {
    while (left < half && values[left] <= values[right]) merged.push_back(values[left++]);
    swaps += static_cast<double>(half - left);
    merged.push_back(values[right]);
  }
  merged.insert(merged.end(), values.begin() + static_cast<std::ptrdiff_t>(left),
                values.begin() + static_cast<std::ptrdiff_t>(half));
  std::copy(merged.begin(), merged.end(), values.begin());
  return swaps;
}

}  // namespace

std::optional<double> Kendall(std::span<const double> a, std::span<const double> b) {
  const size_t count = a.size();
  const Order order = Sorted(
      count, [a, b](size_t i, size_t j) { return std::pair(a[i], b[i]) < std::pair(a[j], b[j]); });
  const auto equal_a = [&](size_t i) { return a[order[i]] == a[order[i + 1]]; };
  const auto equal_both = [&](size_t i) { return equal_a(i) && b[order[i]] == b[order[i + 1]]; };
  const double ties_a = EqualPairs(count, equal_a);
  const double ties_both = EqualPairs(count, equal_both);
  std::vector<double> sorted_b;
  sorted_b.reserve(count);
  for (const size_t i : order) sorted_b.push_back(b[i]);
  const double swaps = SortCountingSwaps(sorted_b);
  const double ties_b = EqualPairs(count, [&](size_t i) { return sorted_b[i] == sorted_b[i + 1]; });
  const double n = static_cast<double>(count);
  const double pairs = n * (n - 1) / 2;
  const double spread = std::sqrt((pairs - ties_a) * (pairs - ties_b));
  if (!(spread > 0)) return std::nullopt;
  // Concordant less discordant: what ties in neither, less twice what is swapped.
  return std::clamp((pairs - ties_a - ties_b + ties_both - 2 * swaps) / spread, -1.0, 1.0);
}

std::vector<double> Places(const Importance& importance) {
  const std::vector<double>& scores = importance.scores;
  const std::vector<double>& losses = importance.losses;
  const bool has_losses = losses.size() == scores.size();
  return SharedPlaces(scores.size(), [&](size_t i, size_t j) {
    if (scores[i] != scores[j]) return scores[i] > scores[j];
    return has_losses && losses[i] < losses[j];
  });
}

RankAgreement Agreement(const Importance& a, const Importance& b) {
  const std::vector<double> places_a = Places(a);
  const std::vector<double> places_b = Places(b);
  RankAgreement agreement;
  agreement.spearman = Spearman(places_a, places_b);
  agreement.kendall = Kendall(places_a, places_b);
  agreement.top = (places_a.size() + 3) / 4;
  const auto top = static_cast<std::ptrdiff_t>(agreement.top);
  auto rank_a = ImportanceRank(a);
  auto rank_b = ImportanceRank(b);
  std::sort(rank_a.begin(), rank_a.begin() + top);
  std::sort(rank_b.begin(), rank_b.begin() + top);
  std::vector<ShardId> shared;
  std::set_intersection(rank_a.begin(), rank_a.begin() + top, rank_b.begin(), rank_b.begin() + top,
                        std::back_inserter(shared));
  agreement.top_shared = shared.size();
  return agreement;
}

std::optional<RankNoise> NoiseOf(const Importance& importance) {
  const std::vector<double>& scores = importance.scores;
  const std::vector<double>& errors = importance.errors;
  if (errors.empty() || errors.size() != scores.size()) return std::nullopt;
  RankNoise noise;
  double squares = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    squares += errors[i] * errors[i];
    if (std::abs(scores[i] - importance.baseline) > 2 * errors[i]) ++noise.different;
  }
  const double mean_square = squares / static_cast<double>(scores.size());
  noise.error = std::sqrt(mean_square);
  if (importance.examples < 2 || scores.size() < 2) return noise;  // errors of 0 say nothing
  // Equal scores may have a variance of rounding errors.
  const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
  if (*low == *high) return noise;
  const double variance = CoMoment(scores, scores) / static_cast<double>(scores.size() - 1);
  noise.reliability = std::clamp(1 - mean_square / variance, 0.0, 1.0);
  return noise;
}

}  // namespace sti
