// BERT's normaliser, its pre-tokeniser, and WordPiece.
#pragma once

#include <cstdint>
#include <string_view>

#include "text/piece_list.h"
#include "text/vocabulary.h"
#include "types/model_info.h"

namespace sti {

/// Splits text as BertTokenizerFast does. Bytes that are not UTF-8 become U+FFFD, which the
/// clean-up then drops. Time is linear in the text, memory beyond the result is one word. Immutable
/// once made: any number of threads may call Split at once.
class WordPiece {
 public:
  /// A word of more code points than this is unknown as a whole.
  static constexpr uint32_t kMaxWordChars = 100;

  WordPiece(Vocabulary vocabulary, const TokenizerInfo& info);

  /// The first or last `limit` ids. Stops early once the rest changes nothing, unless `count_all`.
  [[nodiscard]] PieceList Split(std::string_view text, uint64_t limit, bool count_all,
                                PieceList::Keeps keeps = PieceList::Keeps::kBegin) const;

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
  TokenizerInfo info_;
};

}  // namespace sti
