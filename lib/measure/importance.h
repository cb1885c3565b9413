// Shard importance (STI 5.2): every shard at its fewest bits but one at its most, on a dev set.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "measure/metric.h"
#include "model/loaded_model.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include "types/importance.h"

namespace sti {

struct ImportanceOptions {
  Metric metric = Metric::kAccuracy;
  uint32_t threads = 1;
  ProgressSink progress;  ///< evaluations done: batches x (raised shards and submodels)
  CancelCheck cancelled;
  bool submodels = false;  ///< also measure Importance::submodels
  bool gains = false;      ///< also measure Importance::gains
};

/// Scores every shard; with gains, at every bitwidth. Submodels are as SubmodelMeter says. Layers
/// below the raised one are computed once a batch and reused, which changes no bit of the result.
/// Examples of a multi-label model count as Judge and Divergence say, with a threshold of 0.5.
/// Needs labels on all examples, unless the metric is kl. The same result for any thread count.
Result<Importance> MeasureImportance(ContainerFile file, const Tokenizer& tokenizer,
                                     std::span<const Example> examples,
                                     const ImportanceOptions& options);

}  // namespace sti
