// Shard importance estimated from gradients: some three evaluations instead of one a shard.
//
// All shards are at their fewest bits. Raising one moves its weights by a known D, and the loss of
// an example by s = <gradient, D> to first order. What the second order takes away again, each
// metric tells in its own way.
//
// The loss against labels, or against the full model's, is a log-likelihood: the squared slope of
// one is its curvature on average (empirical Fisher information), so that it falls by -s - s^2 / 2.
//
// One less the cosine with the full model's embedding is half the squared distance of two vectors
// of unit length, and the distance is what all shards together would move. Where their shares are
// independent, what one moves has its own square as the product with the distance, on average: the
// slope says twice what it gains. So it gains -s / 2, and the gains of all add up to the loss.
//
// Spearman's correlation has no slope, but the cosine of each pair has: each is moved by its own,
// to first order, and put in order.
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

/// Returns Importance::estimate of what EstimateImportance gives.
std::string_view QuickEstimateOf(Metric metric);

/// Makes what MeasureImportance makes, with estimated scores, losses, errors and gains; the
/// baseline is exact. `options`: the metric is none that is counted (accuracy, f1), in fp32, the
/// whole of the work, without submodels; progress counts layers computed, forward and backward.
/// Keeps activations of up to 64 MiB, or cache_bytes if that is less, or those of the longest
/// example if they are more. The same result for any thread count.
Result<Importance> EstimateImportance(ContainerFile file, const Tokenizer& tokenizer,
                                      std::span<const Example> examples,
                                      const ImportanceOptions& options);

}  // namespace sti
