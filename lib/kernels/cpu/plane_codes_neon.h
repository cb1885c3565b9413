// Codes put together from their planes with NEON, sixteen bytes of each plane at a time. Only files
// that are compiled for aarch64 alone include this.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "hwy/base.h"

namespace sti {

// Exchanges the bits of `a` that are not in the mask with those of `b` that are, kShift below.
template <uint8_t kMask, int kShift>
HWY_INLINE void ExchangeBits(uint8x16_t& a, uint8x16_t& b) {
  const uint8x16_t mask = vdupq_n_u8(kMask);
  const uint8x16_t low = vbslq_u8(mask, a, vshlq_n_u8(b, kShift));
  b = vbslq_u8(mask, vshrq_n_u8(a, kShift), b);
  a = low;
}
// Moves the bits of `a` that are not in the mask to `b`, kShift below; `b` has no other bits then.
template <uint8_t kMask, int kShift>
HWY_INLINE void SplitBits(uint8x16_t& a, uint8x16_t& b) {
  const uint8x16_t mask = vdupq_n_u8(kMask);
  b = vandq_u8(vshrq_n_u8(a, kShift), mask);
  a = vandq_u8(a, mask);
}

/// Turns kBits vectors that hold a bit of eight codes in each byte, lowest bits first, into eight
/// that hold a code in each: a transposition of 8 x 8 bits in every byte of all of them.
template <uint32_t kBits>
HWY_INLINE void TransposeBits(uint8x16_t (&v)[8]) {
#pragma GCC unroll 4
  for (uint32_t i = 0; i < kBits; i += 2) {
    i + 1 < kBits ? ExchangeBits<0x55, 1>(v[i], v[i + 1]) : SplitBits<0x55, 1>(v[i], v[i + 1]);
  }
#pragma GCC unroll 4
  for (uint32_t i = 0; i < kBits; i += 4) {
#pragma GCC unroll 2
    for (uint32_t j = i; j < i + 2; ++j) {
      i + 2 < kBits ? ExchangeBits<0x33, 2>(v[j], v[j + 2]) : SplitBits<0x33, 2>(v[j], v[j + 2]);
    }
  }
#pragma GCC unroll 4
  for (uint32_t i = 0; i < 4; ++i) {
    if constexpr (kBits > 4) {
      const uint8x16_t low = vsliq_n_u8(v[i], v[i + 4], 4);
      v[i + 4] = vsriq_n_u8(v[i + 4], v[i], 4);
      v[i] = low;
    } else {
      v[i + 4] = vshrq_n_u8(v[i], 4);
      v[i] = vandq_u8(v[i], vdupq_n_u8(0x0F));
    }
  }
}

/// Moves byte i of vector j to place 8 i + j of all 128, which puts in order what TransposeBits
/// made.
HWY_INLINE void InterleaveBytes(uint8x16_t (&v)[8]) {
#pragma GCC unroll 3
  for (uint32_t level = 0; level < 3; ++level) {
    uint8x16_t next[8];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; ++i) {
      next[2 * i] = vzip1q_u8(v[i], v[i + 4]);
      next[2 * i + 1] = vzip2q_u8(v[i], v[i + 4]);
    }
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; ++i) v[i] = next[i];
  }
}

}  // namespace sti
