// How byte-level BPE spells bytes in its vocabulary: one visible character each (GPT-2's table).
#pragma once

#include <cstdint>
#include <string>

namespace sti {

/// The character of a byte: itself where that is visible in Latin-1, else the next free one from
/// U+0100 on, in order of bytes. Below U+0144 for all.
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
