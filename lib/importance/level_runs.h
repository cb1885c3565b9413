// Runs submodels over all examples, as a cascade's levels do, and leaves out words between them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/log.h"
#include "base/result.h"
#include "importance/cascade_counts.h"
#include "importance/examples.h"
#include "importance/layer_runner.h"
#include "types/importance_part.h"

namespace sti {

/// The attention that each token received on one level: [batches][tokens].
using BatchAttention = std::vector<std::vector<float>>;

/// The answers of one level to all examples.
struct LevelRun {
  std::vector<float> logits;  ///< [examples, labels]
  BatchAttention attention;
};

/// The texts that come to a level, after another has read them.
struct PrunedTexts {
  std::vector<ExampleBatch> batches;
  std::vector<WordCount> words;  ///< [examples]
};

/// Returns the texts without the words that a level leaves out which gave them this attention
/// (KeptTokens).
PrunedTexts Prune(std::span<const ExampleBatch> batches, const BatchAttention& attention,
                  double alpha);

/// Runs levels of a model whose bitwidths are loaded. One thread at a time.
class LevelRunner {
 public:
  LevelRunner(LayerRunner& runner, CancelCheck cancelled)
      : runner_(runner), cancelled_(std::move(cancelled)) {}

  /// Runs the first slices of the layers that a depth has. A DataError if a logit is not finite.
  Result<LevelRun> Run(const SubmodelCell& level, std::span<const ExampleBatch> batches);

 private:
  [[nodiscard]] Status RunBatch(const SubmodelCell& level, const ExampleBatch& batch,
                                LevelRun* run);

  LayerRunner& runner_;
  CancelCheck cancelled_;
  AlignedVector<float> hidden_;  ///< [tokens, d]
  std::vector<float> firsts_;    ///< [sequences, d]
  std::vector<float> context_;   ///< likewise, and 16 more
};

}  // namespace sti
