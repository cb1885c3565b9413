// Tokens become text again. Byte-level BPE cuts text between bytes, so a character may be of
// several tokens: it is held back until its last byte has come.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "text/vocabulary.h"

namespace sti {

/// Turns the tokens of a byte-level BPE, one after another, into text. One thread.
class TokenText {
 public:
  /// The vocabulary outlives this.
  explicit TokenText(const Vocabulary& vocabulary);

  /// Takes a token of the vocabulary. Returns the text that is whole with it: characters that are,
  /// and U+FFFD for each maximal part of bytes that are no UTF-8 (base/utf8.h).
  [[nodiscard]] std::string Add(uint32_t id);
  /// Returns what is left, bytes that no token has completed, as U+FFFD, and begins anew.
  [[nodiscard]] std::string Finish();

 private:
  void AppendBytes(std::string_view token);
  [[nodiscard]] std::string TakeWhole(bool is_end);

  const Vocabulary& vocabulary_;
  std::string held_;  ///< bytes that may begin a character
};

}  // namespace sti
