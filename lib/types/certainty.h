// How far a profile's own noise lets its times be trusted. A plan is made to fill its target, so
// times that are known badly decide whether it is met.
#pragma once

namespace sti {

/// Medians of a profile that are known to within this share of themselves are taken as they are: a
/// quiet machine reaches it, and plans leave about as much.
inline constexpr double kCertainNoise = 0.05;

/// Returns whether a profile whose medians are known to within `noise`, a share, is too uncertain
/// to be relied on where little time is left.
constexpr bool IsNoisy(double noise) { return noise > kCertainNoise; }

/// Returns whether such a profile leaves open that a plan which is predicted to take `p99_us` meets
/// a target of `target_us`, although it says so. Times in us.
constexpr bool IsUncertain(double noise, double p99_us, double target_us) {
  return IsNoisy(noise) && p99_us * (1 + noise) > target_us;
}

}  // namespace sti
