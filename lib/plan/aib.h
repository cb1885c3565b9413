// Accumulated IO budgets (STI 5.4.2).
#pragma once

#include <span>
#include <vector>

namespace sti {

/// Two times closer than a nanosecond are equal: sums of measured times carry rounding.
inline constexpr double kTimeTolerance_us = 1e-3;

/// Returns what is left of each layer's budget, in microseconds. AIB(0) = bonus + slack - embed_io,
/// AIB(k) = AIB(k-1) + layer; then every layer's IO is deducted from its own AIB and all later
/// ones. A difference within the tolerance is 0.
///
/// `layer_io_us` has one entry a layer, of every shard chosen there, and `bonus_us` is the IO time
/// of those that are preloaded. To decide validity pass a bonus of 0 and the IO of shards that are
/// not preloaded: the same where every preloaded shard belongs to layer 0, as in Figure 6, and
/// stricter elsewhere, since the bonus of a later layer's shard buys an earlier layer no time.
std::vector<double> ComputeAibs(double bonus_us, double slack_us, double embed_io_us,
                                double layer_us, std::span<const double> layer_io_us);

/// Returns whether no budget is overdrawn, so that nothing is late (STI 5.4).
bool AibsValid(std::span<const double> aib_us);

}  // namespace sti
