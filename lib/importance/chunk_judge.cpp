#include "importance/chunk_judge.h"

#include "types/finite.h"
#include "types/score.h"

namespace sti {

void ChunkJudge::Begin(const ExampleBatch& chunk) {
  chunk_ = &chunk;
  reference_.clear();
  reference_labels_.clear();
}

void ChunkJudge::AddReference(std::span<const float> logits) {
  reference_.insert(reference_.end(), logits.begin(), logits.end());
  for (size_t at = 0; at < logits.size(); at += labels_) {
    reference_labels_.push_back(LabelsOf(problem_, logits.subspan(at, labels_)));
  }
}

Result<Outcome> ChunkJudge::Of(uint32_t s, std::span<const float> logits) const {
  const bool by_reference = needs_reference();
  const auto& truth = by_reference ? reference_labels_[s] : *chunk_->truths[s];
  const Judgement judged = Judge(problem_, logits, truth);
  const std::span<const float> reference =
      by_reference ? std::span(reference_).subspan(size_t{s} * labels_, labels_)
                   : std::span<const float>();
  const auto loss = LossUnits(by_reference ? Divergence(problem_, reference, logits) : judged.loss);
  if (!loss || !AllFinite(logits)) {
    return DataError(
               "an example's loss is not a number, so its weights overflow; shard a sound model")
        .At(name_);
  }
  return Outcome{judged.right, *loss};
}

}  // namespace sti
