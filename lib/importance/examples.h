// Examples in batches, as importance is measured on them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/digest.h"
#include "model/transformer.h"
#include "text/dataset.h"
#include "text/tokenizer.h"

namespace sti {

/// Tokenised examples, each a sequence, one behind the other without padding.
struct ExampleBatch {
  std::vector<uint32_t> offsets;  ///< [sequences + 1] first token of each, then the end
  std::vector<uint32_t> ids;      ///< [tokens]
  std::vector<uint32_t> types;    ///< [tokens]
  std::vector<uint32_t> words;  ///< [tokens] the word that a token is a piece of (Encoding::words)
  /// [sequences] the labels that apply (Example::Truth); none where the example is not labelled.
  std::vector<std::optional<std::vector<uint32_t>>> truths;
  [[nodiscard]] Batch batch() const { return {offsets}; }
};

/// Returns the examples in the order given, each cut to `max_length` tokens (Tokenizer::Encode), in
/// batches of at most `max_tokens` tokens; a sequence that is longer is a batch of its own.
std::vector<ExampleBatch> BatchExamples(const Tokenizer& tokenizer,
                                        std::span<const Example> examples, uint32_t max_length,
                                        uint32_t max_tokens);

/// Sets all truths to none, for a measurement that uses none: the digest of its examples must not
/// depend on them.
void DropTruths(std::span<ExampleBatch> batches);

/// Returns the batch without the tokens for which `kept` [tokens] is false; at least one of each
/// sequence is kept.
ExampleBatch KeptOf(const ExampleBatch& batch, const std::vector<bool>& kept);

/// Returns the digest of what is measured: ids, types and truths of all sequences in their order,
/// however they are divided into batches.
Digest DigestOf(std::span<const ExampleBatch> batches);

/// Tokens of the shortest and of the longest sequence; of none, the values here.
struct LengthRange {
  uint32_t shortest = UINT32_MAX;
  uint32_t longest = 0;
};
LengthRange LengthsOf(std::span<const ExampleBatch> batches);

}  // namespace sti
