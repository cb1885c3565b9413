#include "pipeline/lane/pace.h"

#include <algorithm>
#include <utility>

namespace sti {
namespace {

// The share of a layer's time that does not shrink with its width: norms, residuals, loops' starts.
constexpr double kFixedShare = 0.1;
// One layer says this much about the next; a short last one less, since a delay is as long in it as
// in any other.
constexpr double kLearn = 0.4;
constexpr double kMostSlowdown = 100;  // where a plan's times cannot be
// Layers that are slower than planned by this share take all that was planned for the slowest.
constexpr double kNoReserve = 0.1;
// The overshoot that late runs teach fades run by run, and is at most this share of the deadline.
constexpr double kOvershootKept = 0.98;
constexpr double kMostOvershoot = 0.1;
// A wait until a moment ends up to so much after it where nothing else runs. Where it ends later
// still, runs are late once, and their overshoot says so.
constexpr double kWaking_us = 200;

}  // namespace

Pace::Pace(const PlanTimes& times, uint32_t layers, uint32_t width)
    : layer_us_(std::max(times.layer_us, times.layer_p99_us)),
      last_us_(times.last_layer_us
                   ? std::max(*times.last_layer_us, times.last_layer_p99_us.value_or(0))
                   : layer_us_),
      layer_reserve_us_(std::max(0.0, times.layer_p99_us - times.layer_us)),
      last_reserve_us_(times.last_layer_us ? std::max(0.0, times.last_layer_p99_us.value_or(0) -
                                                               *times.last_layer_us)
                                           : layer_reserve_us_),
      head_us_(times.head_us),
      layers_(layers),
      width_(width) {}

double Pace::PlannedUs(uint32_t k, uint32_t slices) const {
  const double share = static_cast<double>(slices) / width_;
  const double whole_us = k + 1 < layers_ ? layer_us_ : last_us_;
  return whole_us * (kFixedShare + (1 - kFixedShare) * share);
}

// Returns the time of layers k and after it with so many slices each, and of the head.
double Pace::RemainingUs(uint32_t k, uint32_t slices) const {
  double planned_us = head_us_;
  if (k < layers_) {
    planned_us += (layers_ - 1 - k) * PlannedUs(0, slices) + PlannedUs(layers_ - 1, slices);
  }
  return slowdown_ * planned_us;
}

// Returns what layers k and after it will take less than RemainingUs, in all likelihood: each is
// planned with its 99th percentile.
double Pace::ReserveUs(uint32_t k) const {
  if (k >= layers_) return 0;
  const double share = std::clamp(1 - (slowdown_ - 1) / kNoReserve, 0.0, 1.0);
  return share * ((layers_ - 1 - k) * layer_reserve_us_ + last_reserve_us_);
}

// A plan that fills its time has no margin before its first layers but this reserve.
double Pace::MarginBefore(uint32_t k) const {
  return std::max(0.0, kWaking_us - ReserveUs(k)) + overshoot_us_;
}

double Pace::LatestStartUs(uint32_t k) const {
  return deadline_us_ - MarginBefore(k) - RemainingUs(k, width_);
}

uint32_t Pace::SlicesFor(uint32_t k, double now_us) const {
  // The margin is for who waited until the latest start, and is used up by now but for half of what
  // late runs taught. What turns out to take longer than its median costs later layers their
  // slices, not all of them now; behind the last layer there are none.
  const double left_us = deadline_us_ - overshoot_us_ / 2 - now_us;
  const double reserve_us = k + 1 < layers_ ? ReserveUs(k) : 0;
  uint32_t slices = width_;
  while (slices > 1 && RemainingUs(k, slices) - reserve_us > left_us) --slices;
  return slices;
}

// Slower counts soon, since a deadline is near, but one slow layer may be chance; faster has to
// prove itself.
void Pace::Observe(uint32_t k, uint32_t slices, double time_us) {
  const double expected_us = PlannedUs(k, slices);
  if (expected_us <= 0) return;
  const double seen = std::clamp(time_us / expected_us, 1.0, kMostSlowdown);
  const double ratio = std::min(seen, std::exchange(last_ratio_, seen));
  const bool short_one = k + 1 == layers_ && last_us_ < layer_us_;
  const double learn = kLearn * (short_one ? last_us_ / layer_us_ : 1);
  slowdown_ += (ratio > slowdown_ ? learn : learn / 2) * (ratio - slowdown_);
}

// One late run may be chance, such as a pause of the whole machine. Another one soon after it is
// none, as far as both were late.
void Pace::Ended(double late_us) {
  overshoot_us_ = std::max(kOvershootKept * overshoot_us_, 0.0);
  recent_late_us_ = std::max(kOvershootKept * recent_late_us_, 0.0);
  if (!(late_us > 0)) return;
  const double believed_us = std::min(late_us, recent_late_us_);
  overshoot_us_ = std::min(overshoot_us_ + believed_us, kMostOvershoot * deadline_us_);
  recent_late_us_ = std::max(recent_late_us_, late_us);
}

}  // namespace sti
