// The drift of a device from its profile. A plan counts on a profile as it is, or with the drift
// that was known when it was made; runs show what has come since. The next plan counts on both.
#pragma once

#include <optional>

#include "pipeline/drift.h"

namespace sti {

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
