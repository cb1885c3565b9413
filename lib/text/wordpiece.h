// BERT's normaliser, its pre-tokeniser, and WordPiece.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "text/text_cutter.h"
#include "text/vocabulary.h"
#include "types/model_info.h"

namespace sti {

/// Splits text as BertTokenizerFast does. Bytes that are not UTF-8 become U+FFFD, which the
/// clean-up then drops. Time is linear in the text, memory beyond the result is one word. Immutable
/// once made: any number of threads may call Cut at once.
class WordPiece {
 public:
  /// A word of more code points than this is unknown as a whole.
  static constexpr uint32_t kMaxWordChars = 100;

  WordPiece(Vocabulary vocabulary, const TokenizerInfo& info);

  /// Begins to cut a text into `pieces`. The splitter outlives what it returns.
  [[nodiscard]] std::unique_ptr<TextCutter> Cut(std::string_view text, PieceList* pieces) const;

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
  TokenizerInfo info_;
};

}  // namespace sti
