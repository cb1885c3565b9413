// Shard importance (STI 5.2): every shard at its fewest bits but one at its most, on a dev set.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "model/loaded_model.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include "types/importance.h"

namespace sti {

enum class Metric : uint8_t { kAccuracy, kLoss, kKl };
const char* MetricName(Metric metric);

struct ImportanceOptions {
  Metric metric = Metric::kAccuracy;
  uint32_t threads = 1;
  ProgressSink progress;  ///< batches x shards done
  CancelCheck cancelled;
};

/// Scores every shard. Layers below the raised one are computed once a batch and reused, which
/// changes no bit of the result. Examples of a multi-label model count as Judge and Divergence say,
/// with a threshold of 0.5. Needs labels on all examples, unless the metric is kl. The same
/// result for any thread count.
Result<Importance> MeasureImportance(ContainerFile file, const Tokenizer& tokenizer,
                                     std::span<const Example> examples,
                                     const ImportanceOptions& options);

}  // namespace sti
