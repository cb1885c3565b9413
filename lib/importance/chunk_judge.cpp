#include "importance/chunk_judge.h"

#include "types/finite.h"
#include "types/score.h"

namespace sti {

void ChunkJudge::Begin(const ExampleBatch& chunk) {
  chunk_ = &chunk;
  reference_.clear();
  reference_labels_.clear();
}

void ChunkJudge::AddReference(std::span<const float> values) {
  reference_.insert(reference_.end(), values.begin(), values.end());
  if (TraitsOf(metric_).output != HeadOutput::kLabels) return;
  for (size_t at = 0; at < values.size(); at += each_) {
    reference_labels_.push_back(LabelsOf(problem_, values.subspan(at, each_)));
  }
}

Error ChunkJudge::NoNumber() const {
  return DataError(
             "an example's loss is not a number, so its weights overflow; shard a sound model")
      .At(name_);
}

Result<Outcome> ChunkJudge::Of(uint32_t example, std::span<const float> values) const {
  if (!AllFinite(values)) return NoNumber();
  return TraitsOf(metric_).output == HeadOutput::kLabels ? ByLabels(example, values)
                                                         : ByCosine(example, values);
}

Result<Outcome> ChunkJudge::ByLabels(uint32_t example, std::span<const float> logits) const {
  const bool by_reference = needs_reference();
  const auto& truth = by_reference ? reference_labels_[example] : *chunk_->truths[example];
  const Judgement judged = Judge(problem_, logits, truth);
  const auto loss =
      LossUnits(by_reference ? Divergence(problem_, Reference(example), logits) : judged.loss);
  if (!loss) return NoNumber();
  return Outcome{judged.right, *loss, {}};
}

Result<Outcome> ChunkJudge::ByCosine(uint32_t example, std::span<const float> values) const {
  const bool is_pair = !needs_reference();
  const double cosine = is_pair ? Cosine(values.first(each_), values.last(each_))
                                : Cosine(Reference(example), values);
  const auto loss = LossUnits(1 - cosine);
  if (!loss) {
    return DataError(
               "an example's embedding is all zero, so it points nowhere; shard a sound model")
        .At(name_);
  }
  return Outcome{false, *loss, is_pair ? CosineUnits(cosine) : std::nullopt};
}

}  // namespace sti
