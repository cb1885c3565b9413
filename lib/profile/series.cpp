#include "profile/series.h"

#include <algorithm>
#include <cmath>

#include "base/samples.h"

namespace sti {
namespace {

constexpr double kShortestUs = 1e3;
constexpr double kEnough = 100;  // series of one length that follow each other, for a p99
constexpr double kStarts = 4;    // series that begin within the length of one

/// Times of all items before each item, and of all: [items + 1].
struct Sums {
  explicit Sums(std::span<const SeriesItem> items) : median_us(1, 0.0), time_us(1, 0.0) {
    for (const SeriesItem& item : items) {
      median_us.push_back(median_us.back() + item.median_us);
      time_us.push_back(time_us.back() + item.time_us);
    }
  }
  /// Returns the first item that begins at or behind `at_us`, counted by medians.
  [[nodiscard]] size_t ItemAt(double at_us) const {
    const auto found = std::lower_bound(median_us.begin(), median_us.end(), at_us);
    return static_cast<size_t>(found - median_us.begin());
  }

  std::vector<double> median_us;
  std::vector<double> time_us;
};

/// Returns the p99 of time over median of all series of this length.
double RatioOf(const Sums& sums, double length_us) {
  Samples ratios;
  for (double begin_us = 0; begin_us + length_us <= sums.median_us.back();
       begin_us += length_us / kStarts) {
    const size_t begin = sums.ItemAt(begin_us);
    const size_t end = sums.ItemAt(begin_us + length_us);
    const double median_us = sums.median_us[end] - sums.median_us[begin];
    if (median_us > 0) ratios.Add((sums.time_us[end] - sums.time_us[begin]) / median_us);
  }
  return std::max(1.0, ratios.p99());
}

}  // namespace

std::vector<SeriesSample> MeasureSeries(std::span<const SeriesItem> items) {
  const Sums sums(items);
  std::vector<SeriesSample> series;
  for (double length_us = kShortestUs; kEnough * length_us <= sums.median_us.back(); length_us *= 2)
    series.push_back({length_us, RatioOf(sums, length_us)});
  double ratio = 1;
  for (auto sample = series.rbegin(); sample != series.rend(); ++sample) {
    ratio = std::max(ratio, sample->p99_us);
    sample->p99_us = ratio * sample->median_us;
  }
  return series;
}

}  // namespace sti
