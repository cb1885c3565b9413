// How well a median is known, whatever the distribution of the times.
#pragma once

#include <cstddef>
#include <vector>

namespace sti {

/// A median and an interval that holds the true one in at least 95 of 100 cases. Its ends are order
/// statistics: the number of samples below the true median is binomial, whatever their
/// distribution, so no outlier and no skew makes it wrong. Samples are taken as independent.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  /// The wider side as a share of the median, of `floor` where the median is less; infinite with
  /// fewer than 6 samples, which say nothing at 95 %.
  [[nodiscard]] double HalfWidth(double floor = 0) const;
  size_t samples = 0;
};

/// Nearest rank; all 0 of an empty list.
MedianInterval MedianOf(std::vector<double> values);

/// r such that the r-th smallest and the r-th largest of `samples` values hold their median between
/// them in 95 of 100 cases; 0 where there are too few.
size_t IntervalRank(size_t samples);

}  // namespace sti
