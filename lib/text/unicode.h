// Code points and their properties, as tokenizers see them.
//
// Token ids depend on the Unicode version of these tables, which UnicodeVersion tells. Hugging
// Face's tokenizers, whose ids we give, use other versions. Its WordPiece has older tables: they
// differ only in marks, punctuation and format characters that Unicode gained since about 2016. Its
// byte-level BPE may have newer ones: they differ only in letters and numbers gained since 15.0.
// All functions are pure and thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sti {

/// Returns the Unicode version of the tables, "15.0.0".
std::string UnicodeVersion();

/// Appends the UTF-8 form of `code`, a code point that is no surrogate.
void AppendUtf8(char32_t code, std::string* out);

/// Returns whether `code` has the White_Space property.
bool IsWhiteSpace(char32_t code);

/// Returns whether BERT's clean-up drops `code`: controls, format characters and private use, but
/// not tab, line feed and carriage return.
bool IsControl(char32_t code);

/// Returns whether `code` is punctuation: ASCII punctuation in BERT's sense (any printable that is
/// no letter, digit or space), and the general categories P*.
bool IsPunctuation(char32_t code);

/// Returns whether `code` has a general category L*: what \p{L} means.
bool IsLetter(char32_t code);

/// Returns whether `code` has a general category N*: what \p{N} means.
bool IsNumber(char32_t code);

/// Returns whether `code` stands alone as a word: one of the CJK ideographs in BERT's sense.
bool IsIdeograph(char32_t code);

/// Returns whether `code` has the general category Mn: what accents decompose into.
bool IsNonspacingMark(char32_t code);

/// Returns the canonical combining class of `code`, 0 for starters.
uint32_t CombiningClass(char32_t code);

/// A few code points by value.
struct CodePoints {
  std::array<char32_t, 8> codes{};
  uint32_t size = 0;
  [[nodiscard]] const char32_t* begin() const { return codes.data(); }
  [[nodiscard]] const char32_t* end() const { return codes.data() + size; }
};

/// Returns the full canonical decomposition of one code point, not reordered with its neighbours.
CodePoints Decompose(char32_t code);

/// Returns the full lower case mapping of one code point, without context.
CodePoints Lowercase(char32_t code);

}  // namespace sti
