// Codes put together from their planes, with AVX-512 and VBMI. For the files of that instruction
// set alone; they are compiled on x86 only.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "base/little_endian.h"
#include "hwy/base.h"

// GCC 12 takes the undefined vectors of its own header for a mistake of ours.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vbmi")
namespace sti {

/// 64 codes from byte `at` of each plane on: byte i of the result is code order[i]. A plane's word
/// is the mask of the codes that have its bit.
template <uint32_t kBits>
HWY_INLINE __m512i PlaneCodes(const uint8_t* const (&planes)[kBits], uint64_t at, __m512i order) {
  __m512i codes = _mm512_setzero_si512();
#pragma GCC unroll 8
  for (uint32_t p = 0; p < kBits; ++p) {
    const __m512i bit = _mm512_set1_epi8(static_cast<char>(1U << (kBits - 1 - p)));
    const __mmask64 mask = _cvtu64_mask64(LoadLittle<uint64_t>(planes[p] + at));
    codes = _mm512_mask_add_epi8(codes, mask, codes, bit);
  }
  return _mm512_permutexvar_epi8(order, codes);
}

/// The order that puts four inputs of sixteen outputs side by side: byte 4 o + j is the code of
/// output o and input inputs[j].
inline __m512i CodeOrder(const int (&inputs)[4]) {
  alignas(64) uint8_t bytes[64];
  for (int o = 0; o < 16; ++o) {
    for (int j = 0; j < 4; ++j) bytes[4 * o + j] = static_cast<uint8_t>(16 * inputs[j] + o);
  }
  return _mm512_load_si512(bytes);
}

}  // namespace sti
HWY_POP_ATTRIBUTES
