// Text to token ids: BERT's normaliser, its pre-tokeniser, and WordPiece.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"
#include "types/model_info.h"

namespace sti {

/// One input as the model takes it.
struct Encoding {
  std::vector<uint32_t> ids;    ///< [CLS] text [SEP], or [CLS] text [SEP] pair [SEP]
  std::vector<uint32_t> types;  ///< as many as ids: 0 up to the first [SEP], 1 after it
  bool truncated = false;       ///< some of the text did not fit
};

/// Gives the ids that Hugging Face's BertTokenizerFast gives, with one rule of its own: text that
/// spells a control token ("[SEP]") is text, split like any other brackets.
///
/// Every string is an input: bytes that are not UTF-8 become U+FFFD, which the clean-up then
/// drops, and an empty text is [CLS] [SEP]. Time is linear in the text, memory beyond the result
/// is one word. Immutable once made: any number of threads may call Encode at once.
class Tokenizer {
 public:
  /// A word of more code points than this is unknown as a whole.
  static constexpr uint32_t kMaxWordChars = 100;

  Tokenizer(Vocabulary vocabulary, const TokenizerInfo& info);

  /// At most `max_length` ids, control tokens included, and never fewer than the control tokens
  /// (2, or 3 with a pair). A single text loses its end; of a pair the longer text is cut until
  /// both are equally long, then both are.
  [[nodiscard]] Encoding Encode(std::string_view text, std::optional<std::string_view> pair,
                                uint32_t max_length) const;

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }
  [[nodiscard]] const TokenizerInfo& info() const { return info_; }

 private:
  Vocabulary vocabulary_;
  TokenizerInfo info_;
};

}  // namespace sti
