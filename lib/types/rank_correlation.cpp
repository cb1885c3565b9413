#include "types/rank_correlation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sti {
namespace {

using Order = std::vector<size_t>;

double MeanOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// A series by ranks: `shares` has the share of all elements that are below each, half of the equal
/// ones counting, itself among them; `order` has the elements in ascending order.
struct Ranked {
  explicit Ranked(std::span<const double> series) {
    const auto before = [series](size_t i, size_t j) { return series[i] < series[j]; };
    const auto count = static_cast<double>(series.size());
    shares = SharedPlaces(series.size(), before);
    for (double& place : shares) place = (place - 0.5) / count;
    order.resize(series.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), before);
    moment = CoMoment(shares, shares) / count;
  }

  std::vector<double> shares;
  Order order;
  double moment = 0;  ///< variance of `shares`
};

/// Returns for each element the mean over all of `weights` where `by` is above the element's own,
/// half of it where it is equal.
std::vector<double> MeanAbove(const Ranked& by, std::span<const double> weights) {
  const size_t count = by.order.size();
  std::vector<double> means(count);
  double above = 0;
  for (size_t end = count; end > 0;) {
    size_t begin = end - 1;
    while (begin > 0 && by.shares[by.order[begin - 1]] == by.shares[by.order[end - 1]]) --begin;
    double equal = 0;
    for (size_t i = begin; i < end; ++i) equal += weights[by.order[i]];
    for (size_t i = begin; i < end; ++i)
      means[by.order[i]] = (above + equal / 2) / static_cast<double>(count);
    above += equal;
    end = begin;
  }
  return means;
}

/// Returns the influence of each element on the covariance of the ranks. An element moves it by its
/// own product, and by the ranks of all elements that are above it.
std::vector<double> CovarianceInfluence(const Ranked& a, const Ranked& b) {
  std::vector<double> influence = MeanAbove(a, b.shares);
  const std::vector<double> other = MeanAbove(b, a.shares);
  for (size_t i = 0; i < influence.size(); ++i)
    influence[i] += other[i] + a.shares[i] * b.shares[i];
  const double mean = MeanOf(influence);
  for (double& one : influence) one -= mean;
  return influence;
}

}  // namespace

std::vector<double> SharedPlaces(size_t count, const std::function<bool(size_t, size_t)>& before) {
  Order order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), before);
  std::vector<double> places(count);
  for (size_t begin = 0; begin < count;) {
    size_t end = begin + 1;
    while (end < count && !before(order[begin], order[end])) ++end;
    // Places begin + 1 to end.
    const double shared = static_cast<double>(begin + 1 + end) / 2;
    for (; begin < end; ++begin) places[order[begin]] = shared;
  }
  return places;
}

double CoMoment(std::span<const double> a, std::span<const double> b) {
  const double mean_a = MeanOf(a);
  const double mean_b = MeanOf(b);
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
  return sum;
}

std::optional<double> Spearman(std::span<const double> a, std::span<const double> b) {
  const auto places_a = SharedPlaces(a.size(), [a](size_t i, size_t j) { return a[i] < a[j]; });
  const auto places_b = SharedPlaces(b.size(), [b](size_t i, size_t j) { return b[i] < b[j]; });
  const double spread = std::sqrt(CoMoment(places_a, places_a) * CoMoment(places_b, places_b));
  if (!(spread > 0)) return std::nullopt;
  return std::clamp(CoMoment(places_a, places_b) / spread, -1.0, 1.0);
}

std::vector<double> SpearmanInfluence(std::span<const double> a, std::span<const double> b) {
  std::vector<double> influence(a.size());
  if (a.empty()) return influence;
  const Ranked ranked_a(a);
  const Ranked ranked_b(b);
  const double spread = std::sqrt(ranked_a.moment * ranked_b.moment);
  if (!(spread > 0)) return influence;
  const std::vector<double> both = CovarianceInfluence(ranked_a, ranked_b);
  const std::vector<double> of_a = CovarianceInfluence(ranked_a, ranked_a);
  const std::vector<double> of_b = CovarianceInfluence(ranked_b, ranked_b);
  const double correlation =
      CoMoment(ranked_a.shares, ranked_b.shares) / static_cast<double>(a.size()) / spread;
  for (size_t i = 0; i < influence.size(); ++i) {
    const double variances = of_a[i] / ranked_a.moment + of_b[i] / ranked_b.moment;
    influence[i] = both[i] / spread - correlation / 2 * variances;
  }
  return influence;
}

}  // namespace sti
