// The order of heads and neurons by |weight x gradient|: how much the loss would change, to first
// order, if one of them added nothing to its layer's output (STI 4.1). Which layers can be missed
// is measured: what a whole layer adds is too much for a first order.
#pragma once

#include <span>

#include "base/result.h"
#include "importance/measure.h"
#include "model/loaded_model.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include "types/model_order.h"

namespace sti {

/// Puts the heads and neurons of each layer in order at the most bits, the greatest first and equal
/// ones as they were, by the sum of absolute changes over the examples. Depth n - 1 is depth n
/// without the layer whose absence raises the loss least, the deepest of equal ones. Without truths
/// (metric kl) the loss is that of the model's own labels. `options` count as for
/// EstimateImportance; progress counts layers computed, forward and backward. The same result for
/// any thread count.
Result<ModelOrder> MeasureOrder(ContainerFile file, const Tokenizer& tokenizer,
                                std::span<const Example> examples,
                                const ImportanceOptions& options);

}  // namespace sti
