// The rules of the bytes that tokens stand for, which hold whatever the text and the tokenizer.
#pragma once

#include <string>
#include <string_view>

#include "base/utf8.h"
#include "text/tokenizer.h"
#include "types/cascade.h"

namespace sti {

/// Returns whether a code point begins at this byte of the text, or the text ends there.
inline bool IsBoundary(std::string_view text, uint64_t at) {
  // No code point has more than four bytes, nor a part that is replaced, so a walk from a byte that
  // continues none finds the same ones as a walk from the front.
  if (at >= text.size()) return at == text.size();
  uint64_t begin = at;
  while (begin > 0 && at - begin < 4 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
  std::string_view rest = text.substr(begin);
  while (!rest.empty() && text.size() - rest.size() < at) (void)TakeCodePoint(&rest);
  return text.size() - rest.size() == at;
}

/// Returns what is wrong with the offsets of an encoding of these texts; empty: nothing is.
inline std::string ProblemOfOffsets(const Encoding& encoding, std::string_view text,
                                    std::string_view pair) {
  if (encoding.offsets.size() != encoding.ids.size()) return "every token has offsets";
  ByteRange before;
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const bool second = encoding.second_begin && i >= *encoding.second_begin;
    if (encoding.second_begin && i == *encoding.second_begin) before = {};
    const ByteRange bytes = encoding.offsets[i];
    if (encoding.words[i] == kNoWord) {
      if (bytes != ByteRange{}) return "a control token has an empty range";
      continue;
    }
    const std::string_view own = second ? pair : text;
    if (bytes.begin > bytes.end || bytes.end > own.size()) return "a range lies in its text";
    if (bytes.begin < before.begin || bytes.end < before.end) return "ranges of a text rise";
    if (!IsBoundary(own, bytes.begin) || !IsBoundary(own, bytes.end))
      return "a range has whole code points";
    before = bytes;
  }
  return "";
}

}  // namespace sti
