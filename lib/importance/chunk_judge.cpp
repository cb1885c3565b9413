#include "importance/chunk_judge.h"

#include "types/finite.h"
#include "types/score.h"

namespace sti {

void ChunkJudge::Begin(const ExampleBatch& chunk) {
  chunk_ = &chunk;
  reference_.clear();
  reference_labels_.clear();
  reference_spans_.clear();
}

void ChunkJudge::AddReference(std::span<const float> values) {
  reference_.insert(reference_.end(), values.begin(), values.end());
  if (tags_) return AddReferenceSpans();
  if (TraitsOf(metric_).for_embeddings) return;
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

// Finds the spans of those examples whose reference is there by now.
void ChunkJudge::AddReferenceSpans() {
  for (auto e = static_cast<uint32_t>(reference_spans_.size()); e < chunk_->examples(); ++e) {
    const ResultRange results = chunk_->ResultsOf(e);
    if ((size_t{results.first} + results.count) * each_ > reference_.size()) return;
    reference_spans_.push_back(SpansGiven(*tags_, chunk_->word_truths[e], {Reference(e), each_}));
  }
}

Result<Outcome> ChunkJudge::ByWords(uint32_t example, std::span<const float> values) const {
  const WordTruth& truth = chunk_->word_truths[example];
  const TokenLogits logits{values, each_};
  const bool by_reference = needs_reference();
  const std::vector<WordSpan> given = SpansGiven(*tags_, truth, logits);
  const std::vector<WordSpan>& wanted = by_reference ? reference_spans_[example] : truth.spans;
  const auto loss =
      LossUnits(by_reference ? WordDivergence(truth, {Reference(example), each_}, logits)
                             : WordLoss(truth, logits));
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
