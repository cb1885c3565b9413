#include "api/device_drift.h"

namespace sti {

void DeviceDrift::PlanGiven(bool has_profile) {
  counted_on_ = {};
  plan_counts_on_profile_ = has_profile;
  seen_.reset();
}

void DeviceDrift::PlanMade(const Drift& counted_on) {
  counted_on_ = counted_on;
  plan_counts_on_profile_ = true;
  seen_.reset();
}

void DeviceDrift::See(const DriftWatch& watch) {
  if (const auto now = watch.Now()) seen_ = now;
}

Drift DeviceDrift::FromProfile() const {
  if (!plan_counts_on_profile_) return {};
  const Drift beyond = beyond_plan();
  return {counted_on_.compute_ratio * beyond.compute_ratio, counted_on_.io_ratio * beyond.io_ratio};
}

}  // namespace sti
