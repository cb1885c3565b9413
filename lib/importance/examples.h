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

/// Tokenised examples in batches of whole sequences, without padding.
struct ExampleBatch {
  std::vector<uint32_t> offsets;  ///< [sequences + 1]
  std::vector<uint32_t> ids;
  std::vector<uint32_t> types;
  std::vector<uint32_t> words;                               ///< Encoding::words
  std::vector<std::optional<std::vector<uint32_t>>> truths;  ///< [sequences] Example::Truth
  [[nodiscard]] Batch batch() const { return {offsets}; }
};

/// Batches of at most `max_tokens` tokens (a longer sequence stands alone), in the order given.
std::vector<ExampleBatch> BatchExamples(const Tokenizer& tokenizer,
                                        std::span<const Example> examples, uint32_t max_length,
                                        uint32_t max_tokens);

/// Takes the truths away, for what is measured without them: then its digest has none either.
void DropTruths(std::span<ExampleBatch> batches);

/// Returns the batch with those tokens alone that are kept, [tokens]. Each sequence keeps one.
ExampleBatch KeptOf(const ExampleBatch& batch, const std::vector<bool>& kept);

/// Names the examples as they are measured: tokens, their types and the truths, in order, whatever
/// batches they are in.
Digest DigestOf(std::span<const ExampleBatch> batches);

/// Tokens of the longest and of the shortest example.
struct LengthRange {
  uint32_t shortest = UINT32_MAX;
  uint32_t longest = 0;
};
LengthRange LengthsOf(std::span<const ExampleBatch> batches);

}  // namespace sti
