// The order of heads and neurons by |weight x gradient|: how much the loss would change, to first
// order, if one of them added nothing to its layer's output (STI 4.1). The layers that a model can
// best do without are found by leaving each out and running it: what a whole layer adds is too much
// for an estimate of first order.
#pragma once

#include <span>

#include "base/result.h"
#include "importance/measure.h"
#include "model/loaded_model.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include "types/model_order.h"

namespace sti {

/// Returns an order of the heads and of the neurons of each layer, and a depth map, measured on
/// `examples` with all shards at the most bits that the container offers. Heads and neurons whose
/// absolute changes of the loss, summed over the examples, are greatest come first; equal ones stay
/// as they were. Depth n - 1 is depth n without the layer whose absence raises the loss least, the
/// deepest of equal ones. With metric kl, which uses no truths, the loss is that against the
/// model's own labels.
///
/// The change that counts for a model that embeds is with spearman that of the cosine of a pair's
/// two embeddings, and with cosine that of the embedding itself, of unit length: it has no sign,
/// and is seen along a direction that is drawn for each example. The layer that goes is the one
/// without which the metric is best.
///
/// `options` count as for EstimateImportance; progress counts layers computed,
/// forward and backward. DataError if what the head gives is not finite, and the errors of reads.
/// The same result for any thread count.
Result<ModelOrder> MeasureOrder(ContainerFile file, const Tokenizer& tokenizer,
                                std::span<const Example> examples,
                                const ImportanceOptions& options);

}  // namespace sti
