// The tokens of a model, by id and by text, and which of them texts are likely to have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sti {

/// A vocab.txt held in little memory: the text itself, one offset a token and one hash slot for
/// about every two thirds of a token (30522 tokens take 0.6 MiB).
///
/// Immutable once made: any number of threads may call the const methods at once.
class Vocabulary {
 public:
  /// Reads one token a line in id order; lines end with LF or CRLF, the last one may end bare. A
  /// token that stands twice has the later id. DataError if there is no token, or more than the
  /// limits.
  static Result<Vocabulary> FromText(std::string text);

  /// Returns the id of exactly these bytes, if they are a token.
  [[nodiscard]] std::optional<uint32_t> Find(std::string_view token) const;

  /// Returns the bytes of a token; `id` < size(). The view lives as long as this object stays put.
  [[nodiscard]] std::string_view Token(uint32_t id) const;

  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(offsets_.size() - 1); }
  [[nodiscard]] uint64_t memory_bytes() const;
  /// Returns what memory_bytes() of a vocabulary of `tokens` tokens in `text_bytes` bytes is.
  static uint64_t BytesFor(uint64_t tokens, uint64_t text_bytes);

 private:
  Vocabulary() = default;
  static uint64_t SlotsFor(uint64_t tokens);
  [[nodiscard]] uint64_t SlotOf(std::string_view token) const;
  void BuildTable();

  std::string text_;
  std::vector<uint32_t> offsets_;  ///< [size + 1], where each line begins
  std::vector<uint32_t> slots_;    ///< ids, or kEmpty; a power of two of them
};

/// Returns up to `most` token ids, those that are likely the most common first: the marks of
/// sentences; then words of at least two characters by ascending id, and between them the letters
/// of ASCII. Vocabularies list single characters by code point ahead of all words, so that their
/// ids say nothing. Tokens that stand for no text ("[CLS]", "<s>") are left out.
std::vector<uint32_t> CommonWords(const Vocabulary& vocabulary, size_t most);

}  // namespace sti
