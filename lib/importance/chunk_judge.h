// The judge of a chunk of examples, which goes by their labels, or for kl by the full model's
// logits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "importance/examples.h"
#include "importance/layer_runner.h"
#include "importance/tally.h"

namespace sti {

/// Judges one chunk at a time. For kl, the full model's label (or set of labels) counts as right,
/// and the loss is the divergence from its logits. One thread at a time.
class ChunkJudge {
 public:
  ChunkJudge(Metric metric, const ModelInfo& info, std::string name)
      : metric_(metric),
        problem_(info.problem),
        labels_(info.shape.labels),
        name_(std::move(name)) {}

  [[nodiscard]] bool needs_reference() const { return metric_ == Metric::kKl; }

  /// Begins with a chunk, which outlives its use. For kl, AddReference then takes the full model's
  /// logits, range by range.
  void Begin(const ExampleBatch& chunk);
  void AddReference(std::span<const float> logits);

  /// Judges sequence `s` of the chunk by its `logits` [labels]. Returns a DataError if one of them
  /// is not finite, or its loss not a number: such logits have no label.
  [[nodiscard]] Result<Outcome> Of(uint32_t s, std::span<const float> logits) const;

 private:
  Metric metric_;
  Problem problem_;
  uint32_t labels_;
  std::string name_;
  const ExampleBatch* chunk_ = nullptr;
  std::vector<float> reference_;                         // [sequences, labels]
  std::vector<std::vector<uint32_t>> reference_labels_;  // [sequences]
};

}  // namespace sti
