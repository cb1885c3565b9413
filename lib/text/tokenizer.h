// A tokenizer turns text into token ids, by WordPiece or by byte-level BPE as the model has it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "text/byte_bpe.h"
#include "text/text_cutter.h"
#include "text/vocabulary.h"
#include "types/byte_range.h"
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

/// One input as the model takes it. BERT: [CLS] text [SEP], or [CLS] text [SEP] pair [SEP].
/// RoBERTa: <s> text </s>, or <s> text </s> </s> pair </s>. GPT-2: text alone.
struct Encoding {
  std::vector<uint32_t> ids;
  std::vector<uint32_t> types;  ///< as many as ids: 0 up to the first [SEP], `second_type` after it
  /// As many as ids: the word of each, counted from 0 through both texts, kNoWord (types/cascade.h)
  /// for control tokens. Words are what the tokenizer splits into pieces: a punctuation mark is one
  /// of WordPiece's. Empty where the ids are of no text.
  std::vector<uint32_t> words;
  /// As many as ids: the bytes that each stands for, of the first text or of the second, as the
  /// caller gave them. They are whole code points: where a tokenizer splits one, all its tokens
  /// have the whole of it. Both ends rise from token to token of a text, or stay. Control tokens
  /// have an empty range, and so have byte-level BPE's tokens of nothing but spaces: spaces around
  /// what a token says are not in its range. Empty where the ids are of no text.
  ///
  /// These are the offsets of Hugging Face's fast tokenizers, in bytes, with two exceptions. Of
  /// combining marks that are no accents (U+302E) and change places each keeps bytes of its own.
  /// And the one space that byte-level BPE with `add_prefix_space` leaves in the range of the first
  /// token, as there, is that of the text's first token alone, also where the begin is cut.
  std::vector<ByteRange> offsets;
  /// The first token of the second text, or the control token behind it where none is left of it;
  /// those before are of the first. Nothing: there is one text.
  std::optional<uint32_t> second_begin;
  /// As many as ids: whether each goes on with the word of the token in front of it
  /// (Tokenizer::MarkContinuations). Empty where that was not asked for.
  std::vector<bool> continues_word;
  bool truncated = false;  ///< some of the text did not fit
};

/// Returns the tokens of an input that are of its text; none continues a word where continuations
/// were not marked. Pure.
std::vector<TextToken> TextTokensOf(const Encoding& encoding);

/// Gives the ids that Hugging Face's BertTokenizerFast or RobertaTokenizerFast gives, with one
/// exception: text that spells a control token ("[SEP]", "</s>") is text, split like any other.
///
/// Every string is an input: bytes that are not UTF-8 become U+FFFD, and an empty text is its
/// control tokens. Immutable once made: any number of threads may call Encode at once.
class Tokenizer {
 public:
  /// Makes the tokenizer that `info` names; `merges` counts for byte-level BPE only. DataError if
  /// the two do not make a tokenizer.
  static Result<Tokenizer> Create(Vocabulary vocabulary, std::string_view merges,
                                  const TokenizerInfo& info);

  /// Makes a WordPiece tokenizer.
  Tokenizer(Vocabulary vocabulary, const TokenizerInfo& info);

  /// Returns at most `max_length` ids, control tokens included, and never fewer than the control
  /// tokens (2; with a pair 3, or 4 for RoBERTa). A single text loses its end, or its begin if
  /// `cuts_begin`; of a pair the longer text is cut so until both are equally long, then both are.
  [[nodiscard]] Encoding Encode(std::string_view text, std::optional<std::string_view> pair,
                                uint32_t max_length) const;

  /// Sets which tokens of an encoding of `text`, which has no pair, go on with a word, by the rule
  /// of the token-classification pipeline of Hugging Face's transformers. For WordPiece these are
  /// tokens that have another number of characters than their bytes in the text: "##ing", and
  /// accents of several characters that make one. For byte-level BPE they are tokens with no space
  /// in front of them or at their begin. An unknown token never does.
  void MarkContinuations(std::string_view text, Encoding* encoding) const;

  [[nodiscard]] const Vocabulary& vocabulary() const;
  [[nodiscard]] const TokenizerInfo& info() const { return info_; }
  /// Returns the bytes of memory that the tokens, the merges and their tables take.
  [[nodiscard]] uint64_t memory_bytes() const;

 private:
  Tokenizer(ByteBpe bpe, const TokenizerInfo& info) : model_(std::move(bpe)), info_(info) {}
  [[nodiscard]] std::unique_ptr<TextCutter> Cut(std::string_view text, PieceList* pieces) const;

  std::variant<WordPiece, ByteBpe> model_;
  TokenizerInfo info_;
};

}  // namespace sti
