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
struct CodeOrder {
  constexpr explicit CodeOrder(const uint8_t (&inputs)[4]) {
    for (uint8_t i = 0; i < 64; ++i) bytes[i] = static_cast<uint8_t>(16 * inputs[i % 4] + i / 4);
  }
  HWY_INLINE __m512i Load() const { return _mm512_load_si512(bytes); }
  alignas(64) uint8_t bytes[64] = {};
};

/// Asks for what codes far ahead are made from. Planes go on from panel to panel, so this spares
/// the wait at the beginning of each, where the CPU does not foresee it.
template <uint32_t kBits>
HWY_INLINE void FetchPlanes(const uint8_t* const (&planes)[kBits], uint64_t at) {
  constexpr uint64_t kAhead = 512;  // bytes: of each plane half of a panel's, or more
  if (at % 64 != 0) return;
#pragma GCC unroll 8
  for (uint32_t p = 0; p < kBits; ++p) _mm_prefetch(planes[p] + at + kAhead, _MM_HINT_T0);
}

}  // namespace sti
HWY_POP_ATTRIBUTES
