// Bytes of a text, by which tokens and spans say where they stand in it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sti {

/// A run of bytes of one text, counted from its first byte. Plain data.
struct ByteRange {
  uint32_t begin = 0;
  uint32_t end = 0;  ///< the byte behind the last one; `begin` where there are none

  [[nodiscard]] bool empty() const { return begin == end; }
  [[nodiscard]] uint32_t size() const { return end - begin; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// Returns the range from `begin` to `end`, which is no less. In a text of more than 4 GiB what
/// lies behind those is taken to lie at their end.
constexpr ByteRange RangeOf(uint64_t begin, uint64_t end) {
  constexpr uint64_t kMost = UINT32_MAX;
  return {static_cast<uint32_t>(std::min(begin, kMost)),
          static_cast<uint32_t>(std::min(end, kMost))};
}

/// A token of a text by its place: in the input of a model, and in the bytes of the text. Control
/// tokens are none. Plain data.
struct TextToken {
  uint32_t row = 0;  ///< its place in the input, and so of what a model gives for it
  ByteRange bytes;
  bool continues_word = false;  ///< it is of the word of the token in front of it
};

}  // namespace sti
