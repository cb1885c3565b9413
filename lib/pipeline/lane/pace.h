// The pace of a route: how much of its plan there is time for before a deadline. The plan says what
// layers should take; how much longer they take now (another process on the cores, a lower clock)
// is learned from layer to layer and kept from run to run.
#pragma once

#include <cstdint>

#include "types/plan.h"

namespace sti {

/// Times in microseconds since the run's deadline clock began. Not thread-safe.
class Pace {
 public:
  /// Expects `times`, those of a plan of `layers` layers of `width` slices.
  Pace(const PlanTimes& times, uint32_t layers, uint32_t width);

  /// Begins a run that must end at `deadline_us`.
  void Begin(double deadline_us) { deadline_us_ = deadline_us; }

  /// Returns the latest start of layer k (n: the head) that lets all of it and what follows run.
  [[nodiscard]] double LatestStartUs(uint32_t k) const;
  /// Returns how many slices of layer k, and of each after it, there is time for when it starts at
  /// `now_us`; at least 1.
  [[nodiscard]] uint32_t SlicesFor(uint32_t k, double now_us) const;

  /// Learns that layer k took `time_us` with `slices` slices.
  void Observe(uint32_t k, uint32_t slices, double time_us);
  /// Learns that the run ended so much after its deadline, or before it (negative).
  void Ended(double late_us);

  /// Returns the time that layers take now, as a multiple of the plan's.
  [[nodiscard]] double slowdown() const { return slowdown_; }
  /// Takes that multiple over from another plan's layers, which ran last on the same cores.
  void ExpectSlowdown(double slowdown) { slowdown_ = slowdown; }
  /// Returns the time of layers k and after it with one slice each, and of the head.
  [[nodiscard]] double LeastUs(uint32_t k) const { return RemainingUs(k, 1); }
  /// Returns how much later than expected runs ended lately.
  [[nodiscard]] double overshoot_us() const { return overshoot_us_; }

 private:
  [[nodiscard]] double PlannedUs(uint32_t k, uint32_t slices) const;
  [[nodiscard]] double RemainingUs(uint32_t k, uint32_t slices) const;
  [[nodiscard]] double ReserveUs(uint32_t k) const;
  [[nodiscard]] double MarginBefore(uint32_t k) const;

  double layer_us_ = 0;
  double last_us_ = 0;           ///< the last layer, which gives first tokens only
  double layer_reserve_us_ = 0;  ///< what a layer's time is above its median
  double last_reserve_us_ = 0;
  double head_us_ = 0;
  uint32_t layers_ = 0;
  uint32_t width_ = 0;
  double deadline_us_ = 0;
  double slowdown_ = 1;
  double last_ratio_ = 1;      ///< time of the layer before, as a multiple of the plan's
  double overshoot_us_ = 0;    ///< how much later than expected runs ended lately
  double recent_late_us_ = 0;  ///< the latest that a run ended after its deadline, fading
};

}  // namespace sti
