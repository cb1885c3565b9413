// The tokenizer of a model folder: vocab.txt, vocab.json and merges.txt, or tokenizer.json; and
// tokenizer_config.json.
#pragma once

#include <string>

#include "base/result.h"
#include "types/model_info.h"

namespace sti {

/// A vocabulary and how text meets it.
struct TokenizerFiles {
  std::string vocabulary_text;  ///< tokens in id order, each ended by a line feed
  std::string merges_text;      ///< in rank order, each ended by a line feed; byte-level BPE only
  TokenizerInfo info;
};

/// Reads the tokenizer of the model in `dir`: vocab.txt if it is there, else tokenizer.json (model
/// WordPiece with BertNormalizer). What tokenizer_config.json says comes before what
/// tokenizer.json and special_tokens_map.json say. `pad_id` is used if the vocabulary lacks the
/// padding token. ForeignError for a tokenizer that we cannot follow exactly, one with added tokens
/// (import/added_tokens.h) too; DataError if a control token is missing, or if there are more than
/// `max_tokens` tokens.
Result<TokenizerFiles> ReadTokenizerFiles(const std::string& dir, uint32_t max_tokens,
                                          uint32_t pad_id);

/// Reads the byte-level BPE tokenizer of the RoBERTa model in `dir`: vocab.json and merges.txt if
/// both are there, else tokenizer.json (model BPE behind a ByteLevel pre-tokenizer, in front of
/// RobertaProcessing). Otherwise as ReadTokenizerFiles. DataError too for ids with gaps, a byte
/// without a token, a merge of or into what is no token, a merge that stands twice, and more merges
/// than tokens.
Result<TokenizerFiles> ReadByteBpeFiles(const std::string& dir, uint32_t max_tokens,
                                        uint32_t pad_id);

}  // namespace sti
