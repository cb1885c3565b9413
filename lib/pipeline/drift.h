// Whether the device still is the one that was profiled.
//
// A hot device lowers its clock, another flash card reads at another speed: then a plan's
// predictions are off for good, not for one input. So each run's times are compared with the
// plan's. A small difference takes many runs to tell from noise: the middle one of them decides. A
// great one does not, and each input under a plan that is far off is late. So there is a
// sequential test too (a cumulative sum, Page 1954). Each run adds to it what its ratio is above
// the tolerance, in the logarithm, or takes away what it is below. One run adds at most 1, so that
// a single slow input, however slow, says nothing, and few that come now and then say no more.
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
  static constexpr size_t kRuns = 32;        ///< that a judgement of small differences needs
  static constexpr size_t kLeastRuns = 5;    ///< that any judgement needs
  static constexpr double kTolerance = 0.2;  ///< slower by this share is drift

  /// Adds one run's times over the plan's; 0 where it says nothing.
  void Add(double compute_ratio, double io_ratio);

  /// Returns how long runs take now: by the upper quartile of those since they became slower, once
  /// kLeastRuns or more of them have made that sure, until as many have shown the contrary; else by
  /// the median of the last kRuns. Nothing before either can be told.
  [[nodiscard]] std::optional<Drift> Now() const;
  /// Returns the upper quartiles of the same runs. A device that is faster by these as well is
  /// faster for most inputs.
  [[nodiscard]] std::optional<Drift> Careful() const;
  /// Returns Now() if one of its ratios is beyond the tolerance, but only once until Forget.
  std::optional<Drift> TakeWarning();
  /// Returns the number of runs that have said something since Forget.
  [[nodiscard]] size_t runs() const { return runs_; }
  /// Begins anew, for another plan.
  void Forget();

 private:
  class Window {
   public:
    void Add(double ratio);
    /// Returns the ratio as Now() describes it, or the upper quartile in any case.
    [[nodiscard]] std::optional<double> Judge(bool careful) const;

   private:
    /// Returns the ratio below which this share of the last runs is.
    [[nodiscard]] double QuantileOfLast(size_t runs, double share) const;

    std::array<double, kRuns> ratios_{};  // a ring
    size_t count_ = 0;
    size_t next_ = 0;
    double evidence_ = 0;  // that runs are slower, 0 to kLeastRuns
    size_t since_ = 0;     // runs since it was 0 last
    bool slower_ = false;  // it has been enough since then
    bool was_slower_ = false;
  };
  [[nodiscard]] std::optional<Drift> Judge(bool careful) const;

  Window compute_;
  Window io_;
  size_t runs_ = 0;
  bool warned_ = false;
};

/// The drift of one device from one profile. One thread at a time.
class DeviceDrift {
 public:
  /// Notes that another profile describes the device, which the plan in force knows nothing of.
  void ProfileGiven() { plan_counts_on_profile_ = false; }
  /// Notes a plan from elsewhere: it counts on the profile as it is, if there is one.
  void PlanGiven(bool has_profile);
  /// Notes a plan that was made from the profile with this much drift.
  void PlanMade(const Drift& counted_on);
  /// Takes what runs under the plan in force have shown, once that can be told.
  void See(const DriftWatch& watch);

  /// Returns what the plan in force counts on.
  [[nodiscard]] const Drift& counted_on() const { return counted_on_; }
  /// Returns what runs have shown beyond that.
  [[nodiscard]] Drift beyond_plan() const { return seen_.value_or(Drift()); }
  /// Returns the drift from the profile, which the next plan is to count on. Where the plan in
  /// force does not count on that profile, its runs say nothing of it.
  [[nodiscard]] Drift FromProfile() const;

 private:
  Drift counted_on_;
  bool plan_counts_on_profile_ = false;
  std::optional<Drift> seen_;
};

}  // namespace sti
