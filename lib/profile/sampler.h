// Times many things so that their medians can be compared, also with those of another run.
//
// A machine has slow phases: another process, a lower clock. Timing one thing after the other, each
// in a burst, puts such a phase into one number. So there are rounds: each visits every number for
// a few milliseconds, a slow phase touches all alike, and samples of one number lie apart in time,
// which is what its confidence interval takes for granted. Rounds go on until every median is known
// well enough, or the time is up.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"

namespace sti {

/// Holds something to time.
struct TimedQuantity {
  std::string name;                      ///< for people: "a layer of 3 slices at 128 tokens"
  uint32_t kind = 0;                     ///< numbers of one kind have alike tails
  std::function<void()> begin;           ///< before each visit, not timed; may be empty
  std::function<Result<double>()> once;  ///< does it and returns microseconds
};

/// Says how well and how long numbers are measured.
struct SamplingOptions {
  double precision = 0.02;         ///< half a confidence interval as a share of its median
  double budget_us = 30e6;         ///< for all numbers together, gaps not counted
  double gap_us = 0;               ///< idle before each sample; then nothing is warmed up
  std::function<double()> now_us;  ///< empty: the steady clock
  ProgressSink progress;           ///< in numbers
  CancelCheck cancelled;
  std::function<void()> each_round;  ///< may be empty
  /// Receives each sample that counts as it is taken: the number's index, and microseconds. May be
  /// empty.
  std::function<void(size_t, double)> each_sample;
};

/// Holds what the samples say about one number.
struct Timing {
  double median_us = 0;
  /// The 99th percentile: the nearest rank of 200 samples or more. With fewer samples, their
  /// maximum, or if that is more the median times the p99 of all samples of this kind, each divided
  /// by its own median, if those are 200.
  double p99_us = 0;
  /// Half the 95 % interval, as a share of the median, or of kLeastCountedUs where the median is
  /// less.
  double half_width = 0;
  double drift = 0;  ///< second half's median over the first's, less 1; 0 if by chance
  size_t samples = 0;
};

/// A time below this counts for little in any plan, and the clock's own grain shows in it.
inline constexpr double kLeastCountedUs = 20;

/// Times all numbers, and returns one result for each, in their order. Errors are those of `once`,
/// and kUsage when cancelled. Every number has at least 7 samples, whatever the budget.
Result<std::vector<Timing>> MeasureAll(const std::vector<TimedQuantity>& numbers,
                                       const SamplingOptions& options);

}  // namespace sti
