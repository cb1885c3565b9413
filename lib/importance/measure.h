// The importance of shards, measured (STI 5.2): how well a model answers a dev set with every shard
// at its fewest bits but one at its most.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "importance/tally.h"
#include "model/loaded_model.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include "types/importance.h"
#include "types/importance_part.h"
#include "types/kernel.h"

namespace sti {

/// Says what is measured, and within which bounds.
struct ImportanceOptions {
  Metric metric = Metric::kAccuracy;
  uint32_t threads = 1;
  ProgressSink progress;  ///< in kProgressFlops of what is to do
  CancelCheck cancelled;
  bool submodels = false;  ///< also measure Importance::submodels
  bool gains = false;      ///< also measure Importance::gains
  ComputeType compute = ComputeType::kFp32;
  uint64_t cache_bytes = uint64_t{256} << 20;  ///< bound of the activations' memory
  uint32_t part = 1;                           ///< 1 to parts
  uint32_t parts = 1;
  const ImportancePart* resume = nullptr;  ///< what an earlier run of this part has done
  std::string resume_name;                 ///< its file, for messages
  /// Told why `resume` is of other work, which then begins at its beginning. Where this is empty,
  /// that is an error.
  std::function<void(const Error&)> other_work;
  /// Called after each step with what is done so far, and once more if it is to stop. An error ends
  /// the measurement.
  std::function<Status(const ImportancePart& so_far, bool stopping)> checkpoint;
};

/// Operations of one step of ImportanceOptions::progress.
inline constexpr uint64_t kProgressFlops = 1'000'000;

/// The work that a measurement took, in floating-point operations (importance/flops.h).
struct ImportanceWork {
  uint64_t flops = 0;         ///< done
  uint64_t plain_flops = 0;   ///< plain evaluations, one for each shard, bitwidth and submodel
  uint64_t padded_flops = 0;  ///< plain evaluations with every example padded to 128 tokens
  uint64_t held_bytes = 0;    ///< activations and working buffers
  uint64_t least_bytes = 0;   ///< the lowest bound that can be kept: what the longest example needs
};

/// Scores every shard, with gains at every bitwidth; does one part of the work if options say so. A
/// multi-label model's examples count as Judge and Divergence say, with a threshold of 0.5. Needs
/// labels on all examples, or pairs with scores, unless the metric is by reference. Gives the same
/// result for any thread count and any cache_bytes, resumed or not. `work` may be null.
Result<ImportancePart> MeasureImportancePart(ContainerFile file, const Tokenizer& tokenizer,
                                             std::span<const Example> examples,
                                             const ImportanceOptions& options,
                                             ImportanceWork* work = nullptr);

/// Does the whole of the work, and returns the importance. Errors are those of
/// MeasureImportancePart.
Result<Importance> MeasureImportance(ContainerFile file, const Tokenizer& tokenizer,
                                     std::span<const Example> examples,
                                     const ImportanceOptions& options,
                                     ImportanceWork* work = nullptr);

}  // namespace sti
