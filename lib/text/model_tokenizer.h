// The tokenizer of an open container: its text is read in one step and made into tables in another,
// so that a cold start can read shards in between.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "format/container_index.h"
#include "io/container_file.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace sti {

/// The text that a tokenizer is made from, as read.
struct TokenizerParts {
  std::string vocabulary;
  std::string merges;  ///< byte-level BPE only
};

/// Reads that text from the container.
Result<TokenizerParts> ReadTokenizerParts(ContainerFile& file);

/// Makes the tokenizer; DataError naming `file` if its text is no vocabulary, or has more tokens
/// than the model has embeddings.
Result<Tokenizer> MakeTokenizer(TokenizerParts parts, const ContainerIndex& index,
                                const std::string& file);

/// Reads and makes the model's tokenizer.
Result<Tokenizer> LoadTokenizer(ContainerFile& file);

/// Reads and makes the model's vocabulary alone, with the same errors.
Result<Vocabulary> LoadVocabulary(ContainerFile& file);

/// Returns at least what Tokenizer::memory_bytes of this model's tokenizer is, in bytes; as much,
/// for WordPiece with a token for each embedding. The number of merges, which the index does not
/// say, is bounded by the tokens that they join to and by the bytes that they take.
uint64_t TokenizerBytes(const ContainerIndex& index);

}  // namespace sti
