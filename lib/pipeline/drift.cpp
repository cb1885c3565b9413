#include "pipeline/drift.h"

#include <algorithm>
#include <cmath>

namespace sti {

void DriftWatch::Window::Add(double ratio) {
  if (!(ratio > 0)) return;
  ratios_[next_] = ratio;
  next_ = (next_ + 1) % kRuns;
  count_ = std::min(count_ + 1, kRuns);
  // The part that a run takes away is bounded too, so that a device that was idle is not believed
  // for long.
  constexpr double kMostFor = 1;
  constexpr double kMostAgainst = 2;
  const double beyond = std::log(ratio) / std::log(1 + kTolerance) - 1;
  evidence_ = std::clamp(evidence_ + std::clamp(beyond, -kMostAgainst, kMostFor), 0.0,
                         static_cast<double>(kLeastRuns));
  since_ = evidence_ > 0 ? since_ + 1 : 0;
  slower_ = evidence_ > 0 && (slower_ || evidence_ == static_cast<double>(kLeastRuns));
  was_slower_ = was_slower_ || slower_;
}

std::optional<double> DriftWatch::Window::Judge(bool careful) const {
  constexpr double kMedian = 0.5;
  constexpr double kUpperQuartile = 0.75;
  // The first of a few slow runs may have become slower in its midst.
  if (slower_) return QuantileOfLast(std::min(since_, count_), kUpperQuartile);
  // Where runs are no longer slower, the few of them that there are say more than nothing.
  const bool enough = count_ == kRuns || was_slower_;
  if (enough) return QuantileOfLast(count_, careful ? kUpperQuartile : kMedian);
  return std::nullopt;
}

double DriftWatch::Window::QuantileOfLast(size_t runs, double share) const {
  std::array<double, kRuns> last{};
  for (size_t i = 0; i < runs; ++i) last[i] = ratios_[(next_ + kRuns - 1 - i) % kRuns];
  const auto below = static_cast<std::ptrdiff_t>(share * static_cast<double>(runs));
  std::nth_element(last.begin(), last.begin() + below,
                   last.begin() + static_cast<std::ptrdiff_t>(runs));
  return last[static_cast<size_t>(below)];
}

void DriftWatch::Add(double compute_ratio, double io_ratio) {
  compute_.Add(compute_ratio);
  io_.Add(io_ratio);
  if (compute_ratio > 0 || io_ratio > 0) ++runs_;
}

std::optional<Drift> DriftWatch::Now() const { return Judge(false); }

std::optional<Drift> DriftWatch::Careful() const { return Judge(true); }

std::optional<Drift> DriftWatch::Judge(bool careful) const {
  const std::optional<double> compute = compute_.Judge(careful);
  const std::optional<double> io = io_.Judge(careful);
  if (!compute && !io) return std::nullopt;
  return Drift{compute.value_or(1), io.value_or(1)};
}

std::optional<Drift> DriftWatch::TakeWarning() {
  if (warned_) return std::nullopt;
  const std::optional<Drift> drift = Now();
  const double limit = 1 + kTolerance;
  if (!drift || (drift->compute_ratio <= limit && drift->io_ratio <= limit)) return std::nullopt;
  warned_ = true;
  return drift;
}

void DriftWatch::Forget() { *this = DriftWatch(); }

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
