// A model that labels tokens is measured by words: by the labels that its rows give the words of a
// text, each by the row of its first token, and by the spans that follow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "score/spans.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include "types/tag_scheme.h"

namespace sti {

/// The words of a text, and what is true of them.
struct WordTruth {
  /// [words] the row of each word's first token, in its sequence; nothing where it did not fit.
  std::vector<std::optional<uint32_t>> rows;
  /// [words] the label that is true of each; nothing where the model has none that says it. Empty:
  /// nothing is known.
  std::vector<std::optional<uint32_t>> labels;
  std::vector<WordSpan> spans;  ///< that are true, those of words that did not fit as well
};

/// Returns the truth of a text whose words are tagged, once it is encoded.
WordTruth WordTruthOf(const TagScheme& tags, const Encoding& encoding, const TaggedWords& words);

/// Returns the words that a tokenizer finds in a text, of which nothing is known; continuations are
/// marked.
WordTruth UntaggedWordsOf(const Encoding& encoding);

/// Logits of a text, a row [labels] for each of its tokens.
struct TokenLogits {
  std::span<const float> values;  ///< [tokens, labels]
  uint32_t labels = 0;

  [[nodiscard]] std::span<const float> operator[](uint32_t row) const {
    return values.subspan(size_t{row} * labels, labels);
  }
};

/// Returns the label that each word is given, nothing where it did not fit.
std::vector<std::optional<uint32_t>> LabelsGiven(const WordTruth& truth, const TokenLogits& logits);

/// Returns the spans that the words are given; those that did not fit are outside of all.
std::vector<WordSpan> SpansGiven(const TagScheme& tags, const WordTruth& truth,
                                 const TokenLogits& logits);

/// Returns how many words have a row and, unless nothing is known of any, a label: those over which
/// the losses below are means.
uint32_t CountedWords(const WordTruth& truth);

/// Returns the mean over words of the cross-entropy, in nats; 0 without words.
double WordLoss(const WordTruth& truth, const TokenLogits& logits);

/// Returns the mean over words of the divergence from the rows of `reference`; 0 without words.
double WordDivergence(const WordTruth& truth, const TokenLogits& reference,
                      const TokenLogits& logits);

/// Writes the gradient of WordLoss with respect to the logits to `gradient`, as many.
void WordLossGradient(const WordTruth& truth, const TokenLogits& logits, std::span<float> gradient);

/// Writes the gradient of WordDivergence with respect to the logits to `gradient`, as many.
void WordDivergenceGradient(const WordTruth& truth, const TokenLogits& reference,
                            const TokenLogits& logits, std::span<float> gradient);

}  // namespace sti
