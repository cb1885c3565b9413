// The tokenizer of a model folder: vocab.txt or tokenizer.json, and tokenizer_config.json.
#pragma once

#include <string>

#include "base/result.h"
#include "types/model_info.h"

namespace sti {

/// A vocabulary and how text meets it.
struct TokenizerFiles {
  std::string vocabulary_text;  ///< tokens in id order, each ended by a line feed
  TokenizerInfo info;
};

/// Reads the tokenizer of the model in `dir`: vocab.txt if it is there, else tokenizer.json (model
/// WordPiece with BertNormalizer). What tokenizer_config.json says comes before what
/// tokenizer.json says. `pad_id` is used if the vocabulary lacks the padding token. DataError if
/// there is no tokenizer we can follow exactly, if a control token is missing, or if there are more
/// than `max_tokens` tokens.
Result<TokenizerFiles> ReadTokenizerFiles(const std::string& dir, uint32_t max_tokens,
                                          uint32_t pad_id);

}  // namespace sti
