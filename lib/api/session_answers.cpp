// The answers of a session: what it makes of the values that a run gives, and what answers say of
// themselves.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "api/session.h"
#include "api/window_reader.h"
#include "model/head.h"
#include "model/transformer.h"
#include "score/nearest.h"
#include "text/tokenizer.h"
#include "types/label_vectors.h"
#include "types/score.h"

namespace sti {
namespace {

/// Returns the content of an answer as what the head gives; the memory of one before is used again.
template <typename T>
T& ContentAs(Answer* answer) {
  T* content = std::get_if<T>(&answer->content);
  return content != nullptr ? *content : answer->content.emplace<T>();
}

/// Returns the probabilities [tokens, labels] of an answer that has a row of logits for each token.
std::vector<float> TokenProbabilities(const Answer& answer, uint32_t labels) {
  std::vector<float> rows = answer.run.values;
  Softmax(rows.data(), static_cast<uint32_t>(rows.size() / labels), labels);
  return rows;
}

}  // namespace

std::vector<float> Answer::logits() const {
  if (!is_together()) return run.values;
  const std::vector<float>& scores = labels().scores;
  std::vector<float> logarithms(scores.size());
  std::ranges::transform(scores, logarithms.begin(), [](float score) {
    return std::log(std::max(score, std::numeric_limits<float>::min()));
  });
  return logarithms;
}

std::vector<DegradedShard> Answer::degraded() const {
  std::vector<DegradedShard> shards = windows ? windows->degraded : std::vector<DegradedShard>();
  shards.insert(shards.end(), run.degraded.begin(), run.degraded.end());
  return shards;
}

std::optional<GivenUp> Answer::fallback() const {
  return windows ? BothGivenUp(windows->fallback, run.fallback) : run.fallback;
}

Status Session::FinishContent(std::span<const TextToken> tokens, Answer* answer) const {
  if (info().embeds()) STI_RETURN_IF_ERROR(Embed(answer));
  if (info().labels_tokens()) FindSpans(tokens, answer);
  if (answer_info().has_labels()) Score(answer);
  return {};
}

void Session::Score(Answer* answer) const {
  auto& said = ContentAs<LabelScores>(answer);
  said.scores = answer->ranking();
  said.label = ArgMax(said.scores);
  const Problem problem = answer_info().problem;
  if (!answer->is_together()) Probabilities(problem, said.scores);
  if (problem == Problem::kMultiLabel) said.labels = LabelsAbove(said.scores);
}

Status Session::FinishEmbedding(bool is_compared, std::vector<float>* values) const {
  const bool unit_length = info().head.unit_length;
  if (dimensions() < values->size()) {
    values->resize(dimensions());
    if (unit_length) MakeUnitLength(*values);
  }
  return is_compared || unit_length ? CheckDirection(*values) : Status();
}

Status Session::Embed(Answer* answer) const {
  std::vector<float>& values = answer->run.values;
  STI_RETURN_IF_ERROR(FinishEmbedding(label_vectors_ != nullptr, &values));
  auto& embedding = ContentAs<Embedding>(answer).values;
  embedding = values;
  if (label_vectors_) NearestLogits(*label_vectors_, embedding, &values);
  return {};
}

void Session::FindSpans(std::span<const TextToken> tokens, Answer* answer) const {
  auto& said = ContentAs<TextSpans>(answer);
  const std::vector<float> probabilities = TokenProbabilities(*answer, tags_->size());
  said.names = tags_->names();
  said.spans = SpansOf(*tags_, aggregation_, tokens, probabilities);
}

std::vector<std::optional<uint32_t>> Session::LabelsOfWords(
    const Encoding& encoding, const Answer& answer, std::span<const ByteRange> words) const {
  const std::vector<float> probabilities = TokenProbabilities(answer, tags_->size());
  const std::vector<TextToken> tokens = TextTokensOf(encoding);
  std::vector<std::optional<uint32_t>> labels;
  for (const ByteRange& word : words)
    labels.push_back(LabelOfWord(aggregation_, tokens, probabilities, tags_->size(), word));
  return labels;
}

std::vector<uint32_t> Session::LabelsAbove(std::span<const float> scores) const {
  std::vector<uint32_t> labels;
  for (uint32_t label = 0; label < scores.size(); ++label) {
    if (double{scores[label]} >= threshold_) labels.push_back(label);
  }
  std::stable_sort(labels.begin(), labels.end(),
                   [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
  return labels;
}

Status Session::Conclude(std::span<const float> values, std::span<const TextToken> tokens,
                         Answer* answer) {
  answer->run.values.assign(values.begin(), values.end());
  answer->plan = &plan();
  answer->target_us.reset();
  answer->deadline_met.reset();
  answer->cascade.reset();
  answer->windows.reset();
  answer->cold = false;
  STI_RETURN_IF_ERROR(FinishContent(tokens, answer));
  answer->turn = ++turn_;
  return {};
}

}  // namespace sti
