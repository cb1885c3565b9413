// How long work takes that is done item after item, a series: p99 of the whole by its median.
//
// A plan needs the 99th percentile of a run. The items of a run are never all slow at once, and
// what is too rare to show in one of them, as one moment of a second in which the system does
// something else, shows in many. So runs are looked for in the samples themselves: those of one
// lane, in the order they were taken, make pieces of every length.
#pragma once

#include <span>
#include <vector>

#include "types/device_profile.h"

namespace sti {

/// One sample of a series.
struct SeriesItem {
  double median_us = 0;  ///< of all samples of the same thing; > 0
  double time_us = 0;    ///< of this one
};

/// Returns the 99th percentiles of series, by their length: 1 ms and its doubles, up to a hundredth
/// of all `items`, in the order they were taken. Empty where they are too few for 1 ms. The ratio
/// of p99 to median never rises with the length: where it was seen to, a shorter series has that of
/// the longer one.
std::vector<SeriesSample> MeasureSeries(std::span<const SeriesItem> items);

}  // namespace sti
