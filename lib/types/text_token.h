// A token of a text by its place: in the input of a model, and in the bytes of the text.
#pragma once

#include <cstdint>

#include "types/byte_range.h"

namespace sti {

/// A token of a text; control tokens are none. Plain data.
struct TextToken {
  uint32_t row = 0;  ///< its place in the input, and so of what a model gives for it
  ByteRange bytes;
  bool continues_word = false;  ///< it is of the word of the token in front of it
};

}  // namespace sti
