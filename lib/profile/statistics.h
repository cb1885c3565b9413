// Statistics of times: how well a median is known, whatever their distribution; how long work takes
// that is done item after item; and times made to rise with the work.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "types/device_profile.h"

namespace sti {

/// A median and an interval that holds the true one in at least 95 of 100 cases. Its ends are order
/// statistics: the number of samples below the true median is binomial, whatever their
/// distribution, so no outlier and no skew makes it wrong. Samples are taken as independent.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  /// Returns the wider side as a share of the median, of `floor` where the median is less; infinite
  /// with fewer than 6 samples, which say nothing at 95 %.
  [[nodiscard]] double HalfWidth(double floor = 0) const;
  size_t samples = 0;
};

/// Returns the median by nearest rank, and its interval; all 0 of an empty list.
MedianInterval MedianOf(std::vector<double> values);

/// Returns the r such that the r-th smallest and the r-th largest of `samples` values hold their
/// median between them in 95 of 100 cases; 0 where there are too few.
size_t IntervalRank(size_t samples);

/// One sample of a series.
struct SeriesItem {
  double median_us = 0;  ///< median of all samples of the same thing; > 0
  double time_us = 0;    ///< time of this sample
};

/// Returns the 99th percentiles of series, by their length: 1 ms and its doubles, up to a hundredth
/// of all `items`, in the order they were taken. Empty where they are too few for 1 ms. The ratio
/// of p99 to median never rises with the length: where it was seen to, a shorter series has that of
/// the longer one.
std::vector<SeriesSample> MeasureSeries(std::span<const SeriesItem> items);

/// Makes io times ascend with bytes, and compute times with width and with length at each clock,
/// for each number of inputs by themselves. Sorts `io` by bytes and `compute` by length, width and
/// clock. p99 stays at or above the median.
void SmoothProfile(DeviceProfile& profile);

}  // namespace sti
