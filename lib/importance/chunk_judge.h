// The judge of a chunk of examples, which goes by their labels or scores, or where the metric is by
// reference by what the full model gives.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "importance/examples.h"
#include "importance/tally.h"
#include "types/importance.h"
#include "types/model_info.h"
#include "types/tag_scheme.h"

namespace sti {

/// Judges one chunk at a time by what the model's head gives, its *values*: logits of texts or of
/// tokens, or embeddings. For kl, the full model's label (or set of labels, or spans) counts as
/// right, and the loss is the divergence from its logits. For cosine and spearman the loss is one
/// less a cosine: that with the full model's embedding, or that of a pair's two. One thread at a
/// time.
class ChunkJudge {
 public:
  /// `tags` are those of a model that labels tokens; nothing for others.
  ChunkJudge(Metric metric, const ModelInfo& info, std::string name,
             std::optional<TagScheme> tags = std::nullopt)
      : metric_(metric),
        problem_(info.problem),
        each_(info.head_values()),
        tags_(std::move(tags)),
        name_(std::move(name)) {}

  [[nodiscard]] bool needs_reference() const { return TraitsOf(metric_).by_reference; }

  /// Begins with a chunk, which outlives its use. Where a reference is needed, AddReference then
  /// takes the full model's values [results, values], range by range.
  void Begin(const ExampleBatch& chunk);
  void AddReference(std::span<const float> values);

  /// Judges an example of the chunk by its `values` [ExampleBatch::ResultsOf, values]. Returns a
  /// DataError if one of them is not finite, or its loss not a number: such values say nothing.
  [[nodiscard]] Result<Outcome> Of(uint32_t example, std::span<const float> values) const;

 private:
  void AddReferenceSpans();
  [[nodiscard]] Result<Outcome> ByLabels(uint32_t example, std::span<const float> logits) const;
  [[nodiscard]] Result<Outcome> ByWords(uint32_t example, std::span<const float> logits) const;
  [[nodiscard]] Result<Outcome> ByCosine(uint32_t example, std::span<const float> values) const;
  [[nodiscard]] std::span<const float> Reference(uint32_t example) const {
    return chunk_->ResultsOf(example).Of(std::span(reference_), each_);
  }
  [[nodiscard]] Error NoNumber() const;

  Metric metric_;
  Problem problem_;
  uint32_t each_;  // values of a result of the head
  std::optional<TagScheme> tags_;
  std::string name_;
  const ExampleBatch* chunk_ = nullptr;
  std::vector<float> reference_;                         // [results, values]
  std::vector<std::vector<uint32_t>> reference_labels_;  // [sequences], of labels
  std::vector<std::vector<WordSpan>> reference_spans_;   // [examples], of token labels
};

}  // namespace sti
