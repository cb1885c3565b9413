// UTF-8, and which texts may be printed. A file comes from anywhere, and a terminal obeys control
// characters: ESC moves its cursor and renames its window, a line feed makes one answer look like
// two. So a reader refuses a text of a file that is not printable, by the rule that the file's
// document has, and what is printed of bytes that no rule covers, such as the path of a file, is
// made printable. All functions are pure and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sti {

/// Takes one code point off the front of `text`, which must not be empty. Bytes that are not UTF-8
/// give U+FFFD, one for each maximal part of a sequence that begins well (Unicode 3.9, "U+FFFD
/// substitution of maximal subparts").
char32_t TakeCodePoint(std::string_view* text);

/// Returns the bytes of a text, which they share, for what reads or writes bytes.
inline std::span<const uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/// Returns a file's text without the byte order mark that some editors put in front of UTF-8.
std::string_view WithoutByteOrderMark(std::string_view text);

/// Returns whether a text is UTF-8.
bool IsUtf8(std::string_view text);

/// Returns whether a text is UTF-8 without control characters (U+0000 to U+001F, U+007F to U+009F):
/// the rule of labels.
bool IsPrintable(std::string_view text);

/// Returns whether a text is printable ASCII (0x20 to 0x7E), at most `most_bytes` of it: the rule
/// of the other texts in files.
bool IsPlainText(std::string_view text, size_t most_bytes);

/// Returns whether a code point moves what stands around it, or ends a line, where a text is shown:
/// marks of direction that a reader of labels does not see, and U+2028 and U+2029. Joiners and
/// variants of characters are none: words of Persian and Hindi have them, and emoji.
bool MovesText(char32_t code);

/// Returns `text` with `?` for each control character, for each code point that moves text, and for
/// each maximal part that is not UTF-8, so that IsPrintable holds.
std::string MakePrintable(std::string_view text);

/// Returns whether a text has a code point that moves text.
bool HasMovingText(std::string_view text);

/// Returns a text of ASCII for a line with other words: whole, or if it has more than 50 bytes its
/// first 47 and "...".
std::string Clipped(std::string_view text);

/// Returns the character of a byte: itself where that is visible in Latin-1, else the next free one
/// from U+0100 on, in order of bytes. Below U+0144 for all.
constexpr uint32_t ByteCharacter(uint8_t byte) {
  const auto visible = [](uint32_t b) {
    return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xFF && b != 0xAD);
  };
  if (visible(byte)) return byte;
  uint32_t next = 0x100;
  for (uint32_t b = 0; b < byte; ++b) next += visible(b) ? 0 : 1;
  return next;
}

/// Returns the spelling of a byte as UTF-8.
inline std::string ByteSpelling(uint8_t byte) {
  const uint32_t code = ByteCharacter(byte);
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

}  // namespace sti
