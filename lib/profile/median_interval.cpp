#include "profile/median_interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sti {
namespace {

constexpr double kTail = 0.025;     // on each side
constexpr size_t kExactUpTo = 900;  // 2^-n is a normal double up to here
constexpr double kNormalTail = 1.959964;

}  // namespace

size_t IntervalRank(size_t samples) {
  if (samples > kExactUpTo) {
    const auto n = static_cast<double>(samples);
    return static_cast<size_t>((n - kNormalTail * std::sqrt(n)) / 2);
  }
  // The r-th smallest is above the true median if fewer than r samples are below it.
  double probability = std::ldexp(1.0, -static_cast<int>(samples));
  double below = 0;
  size_t rank = 0;
  for (; rank < samples; ++rank) {
    below += probability;
    if (below > kTail) break;
    probability *= static_cast<double>(samples - rank) / static_cast<double>(rank + 1);
  }
  return rank;
}

MedianInterval MedianOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t rank = IntervalRank(values.size());
  MedianInterval interval;
  interval.samples = values.size();
  interval.median = values[(values.size() + 1) / 2 - 1];
  interval.low = values[rank == 0 ? 0 : rank - 1];
  interval.high = values[values.size() - std::max<size_t>(rank, 1)];
  return interval;
}

double MedianInterval::HalfWidth(double floor) const {
  if (IntervalRank(samples) == 0) return std::numeric_limits<double>::infinity();
  const double wider = std::max(median - low, high - median);
  const double whole = std::max(median, floor);
  return wider == 0 ? 0 : wider / whole;
}

}  // namespace sti
