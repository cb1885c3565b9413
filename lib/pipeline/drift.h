// Whether the device still is the one that was profiled.
//
// A hot device lowers its clock, another flash card reads at another speed: then a plan's
// predictions are off for good, not for one input. So each run's times are compared with the
// plan's, and the middle one of many runs decides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace sti {

/// The times of runs now, as multiples of those that the plan counts on.
struct Drift {
  double compute_ratio = 1;
  double io_ratio = 1;
};

/// Not thread-safe.
class DriftWatch {
 public:
  static constexpr size_t kRuns = 32;        ///< that a judgement needs
  static constexpr double kTolerance = 0.2;  ///< slower by this share is drift

  /// Adds one run's times over the plan's; 0 where it says nothing.
  void Add(double compute_ratio, double io_ratio);

  /// Returns the medians of the last kRuns runs; nothing before there are so many.
  [[nodiscard]] std::optional<Drift> Now() const;
  /// Returns Now() if one of its ratios is beyond the tolerance, but only once until Forget.
  std::optional<Drift> TakeWarning();
  /// Begins anew, for another plan.
  void Forget();

 private:
  class Window {
   public:
    void Add(double ratio);
    [[nodiscard]] bool full() const { return count_ == kRuns; }
    [[nodiscard]] double Median() const;

   private:
    std::array<double, kRuns> ratios_{};  // a ring
    size_t count_ = 0;
    size_t next_ = 0;
  };
  Window compute_;
  Window io_;
  bool warned_ = false;
};

}  // namespace sti
