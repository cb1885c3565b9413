// Accumulated IO budgets, AIBs (STI 5.4.2): the IO time that is left for the shards of each layer
// until that layer must start. A plan is in time if none is overdrawn. What is late at one layer is
// late at all later ones, so a budget counts all IO up to its layer.
//
// The budgets come in four forms. ComputeAibs says what a plan leaves over. Capacities and
// KeepsWithin answer a search, which asks again for each shard that it raises. LatenessBefore is
// for one that goes from the last shard to the first. LeastTarget turns the question round.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/lanes.h"

namespace sti {

/// Two times closer than a nanosecond are equal: sums of measured times carry rounding.
inline constexpr double kTimeTolerance_us = 1e-3;

/// Holds the bounds on what the shards of one submodel may take.
struct Budget {
  ComputeLane lane;
  std::optional<double> target_us;      ///< T; without it only memory limits
  uint64_t preload_bytes = 0;           ///< S
  std::optional<uint64_t> shard_bytes;  ///< memory for preloaded and staged shards together
  double wake_us = 0;                   ///< lead time before the text is there, for shards only
  /// [layers] The time before T by which a layer's shards must be there, so that a run without them
  /// can still give up on IO; empty where nothing is guaranteed.
  std::vector<double> give_up_us = {};

  /// Returns T - T_fixed - (n - 1) * T_comp - T_last. Requires a target.
  [[nodiscard]] double slack_us() const { return *target_us - lane.compute_us(); }
  /// Returns [layers] the IO time for shards until each layer must start, infinite without a
  /// target. What a cold start loads beside shards is taken off.
  [[nodiscard]] std::vector<double> Capacities() const;
};

/// Returns [layers] what the lane's resident parts take of each layer's budget: 0 of a warm run.
/// The last layer also pays for the head's part, and the words that it reads, as far as that takes
/// longer than the layer's compute, which hides it.
std::vector<double> ResidentIo(const ComputeLane& lane);

/// Returns what is left of each layer's budget, in microseconds. AIB(0) = bonus + slack - embed_io,
/// AIB(k) = AIB(k-1) + the time of layer k-1; then every layer's IO is deducted from its own AIB
/// and all later ones. A difference within the tolerance is 0.
///
/// `layer_io_us` has one entry a layer, of every shard chosen there, and `bonus_us` is what the
/// preloaded ones take of it. To decide whether a plan is in time pass a bonus of 0 and the IO of
/// shards that are not preloaded: this is equal where every preloaded shard belongs to layer 0, as
/// in STI Figure 6, and stricter elsewhere, since the bonus of a later layer's shard buys an
/// earlier layer no time.
std::vector<double> ComputeAibs(double bonus_us, double slack_us, const ComputeLane& lane,
                                std::span<const double> layer_io_us);

/// Returns whether no budget is overdrawn, so that nothing is late (STI 5.4).
bool AibsValid(std::span<const double> aib_us);

/// Returns whether IO of [layers] `layer_io_us` keeps within `capacities_us`, which Capacities
/// returned for a lead time of `wake_us`.
bool KeepsWithin(std::span<const double> capacities_us, double wake_us,
                 std::span<const double> layer_io_us);

/// Returns how late the tightest layer is, in microseconds, if one more load comes before others
/// that are `late_us` late when they begin at time 0. `capacity_us` is that of the load's own
/// layer. A search from the last shard to the first needs this one number of all that comes behind.
inline double LatenessBefore(double late_us, double capacity_us, double load_us) {
  return load_us + std::max(late_us, -capacity_us);
}

/// Returns the smallest T that KeepsWithin would accept with IO of [layers] `layer_io_us`, without
/// what the lane's resident parts take, and enough memory, in microseconds.
double LeastTarget(const Budget& budget, std::span<const double> layer_io_us);

}  // namespace sti
