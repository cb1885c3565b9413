#include "pipeline/drift.h"

#include <algorithm>

namespace sti {

void DriftWatch::Window::Add(double ratio) {
  if (ratio <= 0) return;
  ratios_[next_] = ratio;
  next_ = (next_ + 1) % kRuns;
  count_ = std::min(count_ + 1, kRuns);
}

double DriftWatch::Window::Median() const {
  auto sorted = ratios_;
  std::nth_element(sorted.begin(), sorted.begin() + kRuns / 2, sorted.end());
  return sorted[kRuns / 2];
}

void DriftWatch::Add(double compute_ratio, double io_ratio) {
  compute_.Add(compute_ratio);
  io_.Add(io_ratio);
}

std::optional<Drift> DriftWatch::Now() const {
  if (!compute_.full() && !io_.full()) return std::nullopt;
  return Drift{compute_.full() ? compute_.Median() : 1, io_.full() ? io_.Median() : 1};
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

}  // namespace sti
