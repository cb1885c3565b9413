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
  if (tags_ || TraitsOf(metric_).for_embeddings) return;
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
  if (tags_) return ByWords(example, values);
  return TraitsOf(metric_).for_embeddings ? ByCosine(example, values) : ByLabels(example, values);
}

size_t ChunkJudge::ValuesOf(uint32_t example) const {
  const uint32_t results = tags_ ? chunk_->TokensOf(example) : chunk_->sequences_each();
  return size_t{results} * each_;
}

std::span<const float> ChunkJudge::Reference(uint32_t example) const {
  const uint32_t first = tags_ ? chunk_->offsets[example] : example;
  return std::span(reference_).subspan(size_t{first} * each_, ValuesOf(example));
}

Result<Outcome> ChunkJudge::ByWords(uint32_t example, std::span<const float> values) const {
  const WordTruth& truth = chunk_->word_truths[example];
  const TokenLogits logits{values, each_};
  const bool by_reference = needs_reference();
  const TokenLogits reference{by_reference ? Reference(example) : values, each_};
  const std::vector<WordSpan> given = SpansGiven(*tags_, truth, logits);
  const std::vector<WordSpan> wanted =
      by_reference ? SpansGiven(*tags_, truth, reference) : truth.spans;
  const auto loss =
      LossUnits(by_reference ? WordDivergence(truth, reference, logits) : WordLoss(truth, logits));
  if (!loss) return NoNumber();
  const auto both = static_cast<uint32_t>(given.size() + wanted.size());
  return Outcome{given == wanted, *loss, {}, {CountCommon(given, wanted), both}};
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
