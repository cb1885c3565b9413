// Shard importance estimated from gradients: some three evaluations instead of one a shard.
//
// All shards are at their fewest bits. Raising one moves its weights by a known D, and the loss of
// an example by s = <gradient, D> to first order. The second order takes the curvature along D from
// the same number: the squared slope of a log-likelihood is its curvature on average (empirical
// Fisher information), so that a loss falls by -s - s^2 / 2.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "importance/measure.h"
#include "model/loaded_model.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include "types/importance.h"

namespace sti {

/// Importance::estimate of what EstimateImportance gives.
inline constexpr std::string_view kQuickEstimate = "empirical Fisher";

/// Makes what MeasureImportance makes, with estimated scores, losses, errors and gains; the
/// baseline is exact. `options`: the metric is loss or kl, in fp32, the whole of the work, without
/// submodels; progress counts layers computed, forward and backward. Keeps activations of up to 64
/// MiB, or cache_bytes if that is less, or those of the longest example if they are more. The same
/// result for any thread count.
Result<Importance> EstimateImportance(ContainerFile file, const Tokenizer& tokenizer,
                                      std::span<const Example> examples,
                                      const ImportanceOptions& options);

}  // namespace sti
