#include "importance/word_truth.h"

#include <algorithm>

#include "importance/loss_gradient.h"
#include "types/score.h"

namespace sti {
namespace {

// Calls `take` with the number and the row of each word that counts.
template <typename Take>
void ForCountedWords(const WordTruth& truth, const Take& take) {
  for (size_t word = 0; word < truth.rows.size(); ++word) {
    const bool is_known = truth.labels.empty() || truth.labels[word];
    if (truth.rows[word] && is_known) take(word, *truth.rows[word]);
  }
}

// Returns the mean over the words that count of what `of` returns for each.
template <typename Of>
double MeanOverWords(const WordTruth& truth, const Of& of) {
  RunningMean mean;
  ForCountedWords(truth, [&](size_t word, uint32_t row) { mean.Add(of(word, row)); });
  return mean.mean();
}

// Writes the gradient of such a mean. `write` is called with a word, its row, and the place for the
// gradient of its own loss.
template <typename Write>
void MeanGradient(const WordTruth& truth, uint32_t labels, std::span<float> gradient,
                  const Write& write) {
  std::ranges::fill(gradient, 0.0F);
  const auto words = static_cast<float>(CountedWords(truth));
  ForCountedWords(truth, [&](size_t word, uint32_t row) {
    const std::span<float> own = gradient.subspan(size_t{row} * labels, labels);
    write(word, row, own.data());
    for (float& value : own) value /= words;
  });
}

}  // namespace

WordTruth WordTruthOf(const TagScheme& tags, const Encoding& encoding, const TaggedWords& words) {
  WordTruth truth;
  const std::vector<TextToken> tokens = TextTokensOf(encoding);
  for (const ByteRange& word : words.words) {
    const std::span<const TextToken> own = TokensOfWord(tokens, word);
    truth.rows.push_back(own.empty() ? std::nullopt : std::optional(own.front().row));
  }
  truth.spans = WordSpansOf(words.tags);
  truth.labels = LabelsOfSpans(tags, truth.spans, words.words.size());
  return truth;
}

WordTruth UntaggedWordsOf(const Encoding& encoding) {
  WordTruth truth;
  bool is_first = true;
  for (const TextToken& token : TextTokensOf(encoding)) {
    if (is_first || !token.continues_word) truth.rows.emplace_back(token.row);
    is_first = false;
  }
  return truth;
}

std::vector<std::optional<uint32_t>> LabelsGiven(const WordTruth& truth,
                                                 const TokenLogits& logits) {
  std::vector<std::optional<uint32_t>> given;
  given.reserve(truth.rows.size());
  for (const auto& row : truth.rows)
    given.push_back(row ? std::optional(ArgMax(logits[*row])) : std::nullopt);
  return given;
}

std::vector<WordSpan> SpansGiven(const TagScheme& tags, const WordTruth& truth,
                                 const TokenLogits& logits) {
  std::vector<Tag> given;
  given.reserve(truth.rows.size());
  for (const auto& label : LabelsGiven(truth, logits))
    given.push_back(label ? tags[*label] : Tag());
  return WordSpansOf(given);
}

uint32_t CountedWords(const WordTruth& truth) {
  uint32_t words = 0;
  ForCountedWords(truth, [&](size_t, uint32_t) { ++words; });
  return words;
}

double WordLoss(const WordTruth& truth, const TokenLogits& logits) {
  return MeanOverWords(truth, [&](size_t word, uint32_t row) {
    return CrossEntropy(logits[row], *truth.labels[word]);
  });
}

double WordDivergence(const WordTruth& truth, const TokenLogits& reference,
                      const TokenLogits& logits) {
  return MeanOverWords(
      truth, [&](size_t, uint32_t row) { return KlDivergence(reference[row], logits[row]); });
}

void WordLossGradient(const WordTruth& truth, const TokenLogits& logits,
                      std::span<float> gradient) {
  MeanGradient(truth, logits.labels, gradient, [&](size_t word, uint32_t row, float* own) {
    LossGradient(Problem::kSingleLabel, logits[row], {&*truth.labels[word], 1}, own);
  });
}

void WordDivergenceGradient(const WordTruth& truth, const TokenLogits& reference,
                            const TokenLogits& logits, std::span<float> gradient) {
  MeanGradient(truth, logits.labels, gradient, [&](size_t, uint32_t row, float* own) {
    DivergenceGradient(Problem::kSingleLabel, reference[row], logits[row], own);
  });
}

}  // namespace sti
