// Examples in batches, as importance is measured on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/digest.h"
#include "importance/word_truth.h"
#include "model/transformer.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include "types/importance.h"

namespace sti {

/// Some of the results that a head has for a batch (Batch::Results).
struct ResultRange {
  uint32_t first = 0;
  uint32_t count = 0;

  /// Returns their part of `values` [results, values_each].
  template <typename T>
  [[nodiscard]] std::span<T> Of(std::span<T> values, uint32_t values_each) const {
    return values.subspan(size_t{first} * values_each, size_t{count} * values_each);
  }
};

/// Tokenised examples, one behind the other without padding. Each is a sequence, or where it has a
/// score two of them: the texts of a pair, which a model that embeds reads one by one.
struct ExampleBatch {
  std::vector<uint32_t> offsets;  ///< [sequences + 1] first token of each, then the end
  std::vector<uint32_t> ids;      ///< [tokens]
  std::vector<uint32_t> types;    ///< [tokens]
  std::vector<uint32_t> words;  ///< [tokens] the word that a token is a piece of (Encoding::words)
  /// [sequences] the labels that apply (Example::Truth); none where the example is not labelled.
  std::vector<std::optional<std::vector<uint32_t>>> truths;
  std::vector<double> scores;  ///< [pairs] Example::score; empty where examples are no pairs
  std::vector<WordTruth> word_truths;  ///< [sequences] of a model that labels tokens; else empty
  [[nodiscard]] Batch batch() const { return {offsets}; }
  /// Returns how many sequences an example is.
  [[nodiscard]] uint32_t sequences_each() const { return scores.empty() ? 1 : 2; }
  [[nodiscard]] uint32_t examples() const {
    return static_cast<uint32_t>(truths.size()) / sequences_each();
  }
  /// Returns the results of the head that are the example's with this number: one for each of its
  /// sequences, or of a model that labels tokens for each of its tokens.
  [[nodiscard]] ResultRange ResultsOf(uint32_t example) const {
    const uint32_t each = sequences_each();
    if (word_truths.empty()) return {each * example, each};
    return {offsets[example], TokensOf(example)};
  }
  /// Returns how many tokens the example with this number has.
  [[nodiscard]] uint32_t TokensOf(uint32_t example) const {
    const uint32_t each = sequences_each();
    return offsets[size_t{each} * (example + 1)] - offsets[size_t{each} * example];
  }
};

/// Returns the examples in the order given, as the metric wants them, each text cut to `max_length`
/// tokens (Tokenizer::Encode), in batches of at most `max_tokens` tokens; an example that is longer
/// is a batch of its own. Of models that embed each text is a sequence by itself: two examples of a
/// pair by kCosine, one with a score by kSpearman, whose examples all have both. `tags` are those
/// of a model that labels tokens, nothing of others; its examples are tagged, or by kKl texts, both
/// of a pair by themselves. A metric by reference uses no truths, and so gets none: the digest of
/// its examples must not depend on them.
std::vector<ExampleBatch> BatchExamples(const Tokenizer& tokenizer,
                                        std::span<const Example> examples, Metric metric,
                                        uint32_t max_length, uint32_t max_tokens,
                                        const std::optional<TagScheme>& tags = std::nullopt);

/// Returns the batch, of no pairs, without the tokens for which `kept` [tokens] is false; at least
/// one of each sequence is kept.
ExampleBatch KeptOf(const ExampleBatch& batch, const std::vector<bool>& kept);

/// Returns the digest of what is measured: ids, types and truths of all sequences, words and spans
/// where tokens are labelled, and scores of all pairs, in their order, however they are divided
/// into batches.
Digest DigestOf(std::span<const ExampleBatch> batches);

/// Tokens of the shortest sequence and of the longest example; of none, the values here.
struct LengthRange {
  uint32_t shortest = UINT32_MAX;
  uint32_t longest = 0;
};
LengthRange LengthsOf(std::span<const ExampleBatch> batches);

}  // namespace sti
