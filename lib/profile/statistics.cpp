#include "profile/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "base/samples.h"

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

namespace {

// Lowers the times of `less` to those of `more`, which does at least as much work.
void LowerTo(const ComputeSample& more, ComputeSample& less) {
  less.layer_us = std::min(less.layer_us, more.layer_us);
  less.p99_us = std::min(less.p99_us, more.p99_us);
  less.last_us = std::min(less.last_us, more.last_us);
  less.last_p99_us = std::min(less.last_p99_us, more.last_p99_us);
}

// A shard of some bits and a read of some bytes are not compared.
void SmoothIo(std::vector<IoSample>& io) {
  std::stable_sort(io.begin(), io.end(), [](const IoSample& a, const IoSample& b) {
    return std::tie(a.bytes, a.bits) < std::tie(b.bytes, b.bits);
  });
  for (size_t i = io.size(); i-- > 1;) {
    if ((io[i - 1].bytes == 0) != (io[i].bytes == 0)) continue;
    io[i - 1].load_us = std::min(io[i - 1].load_us, io[i].load_us);
    io[i - 1].p99_us = std::min(io[i - 1].p99_us, io[i].p99_us);
  }
}

void SmoothCompute(std::vector<ComputeSample>& compute) {
  std::stable_sort(
      compute.begin(), compute.end(), [](const ComputeSample& a, const ComputeSample& b) {
        return std::tie(a.length, a.width, a.freq) < std::tie(b.length, b.width, b.freq);
      });
  // Backwards, so that what a sample is lowered to has been lowered itself.
  for (size_t i = compute.size(); i-- > 0;) {
    for (size_t j = i + 1; j < compute.size(); ++j) {
      const bool more = compute[j].width >= compute[i].width && compute[j].freq == compute[i].freq;
      if (more) LowerTo(compute[j], compute[i]);
    }
  }
}

}  // namespace

void SmoothProfile(DeviceProfile& profile) {
  SmoothIo(profile.io);
  ForEachBatch(profile,
               [](std::vector<ComputeSample>& compute, const auto&) { SmoothCompute(compute); });
}

}  // namespace sti
