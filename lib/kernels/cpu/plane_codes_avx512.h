// Codes put together from their planes, with AVX-512, VBMI and GFNI. For the files of that
// instruction set alone; they are compiled on x86 only.
#pragma once

#include <immintrin.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "base/little_endian.h"
#include "hwy/base.h"

// GCC 12 takes the undefined vectors of its own header for a mistake of ours.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vbmi,gfni")
namespace sti {

inline constexpr uint64_t kBlockGroups = 8;  ///< groups of 64 codes in a block

// Interleaves the bytes of eight vectors, then words, then dwords: within each 16 bytes, vector m
// gets bytes 2 m and 2 m + 1 of all eight.
HWY_INLINE void Interleave(const __m512i (&bytes)[8], __m512i (&out)[kBlockGroups]) {
  __m512i words[2][4];
#pragma GCC unroll 4
  for (uint32_t i = 0; i < 4; ++i) {
    words[0][i] = _mm512_unpacklo_epi8(bytes[2 * i], bytes[2 * i + 1]);
    words[1][i] = _mm512_unpackhi_epi8(bytes[2 * i], bytes[2 * i + 1]);
  }
#pragma GCC unroll 2
  for (uint32_t h = 0; h < 2; ++h) {
    const __m512i* w = words[h];
    const __m512i low[2] = {_mm512_unpacklo_epi16(w[0], w[1]), _mm512_unpackhi_epi16(w[0], w[1])};
    const __m512i high[2] = {_mm512_unpacklo_epi16(w[2], w[3]), _mm512_unpackhi_epi16(w[2], w[3])};
#pragma GCC unroll 2
    for (uint32_t i = 0; i < 2; ++i) {
      out[4 * h + 2 * i] = _mm512_unpacklo_epi32(low[i], high[i]);
      out[4 * h + 2 * i + 1] = _mm512_unpackhi_epi32(low[i], high[i]);
    }
  }
}

/// Writes the next 512 codes, from byte `at` of each plane on, of which `left` bytes are there:
/// byte i of each group is its code order[i]. A group is four rows of sixteen codes. Bits of eight
/// planes become codes by a transposition of 8 x 8 bits, which the CPU has as a product of such
/// matrices.
template <uint32_t kBits>
HWY_INLINE void PlaneBlock(const uint8_t* const (&planes)[kBits], uint64_t at, uint64_t left,
                           __m512i order, uint8_t (&codes)[64 * kBlockGroups]) {
  alignas(64) static constexpr auto kRows = [] {
    std::array<uint16_t, 32> rows{};
    for (uint16_t i = 0; i < 32; ++i) rows[i] = static_cast<uint16_t>(4 * (i % 8) + i / 8);
    return rows;
  }();
  const __m512i rows = _mm512_load_si512(kRows.data());
  const __mmask64 there = left >= 64 ? ~uint64_t{0} : (uint64_t{1} << left) - 1;
  __m512i bytes[8];
#pragma GCC unroll 8
  for (uint32_t i = 0; i < 8; ++i) {
    bytes[i] = _mm512_setzero_si512();
    if (i + kBits < 8) continue;
    const __m512i plane = _mm512_maskz_loadu_epi8(there, planes[i + kBits - 8] + at);
    bytes[i] = _mm512_permutexvar_epi16(rows, plane);
  }
  __m512i bits[kBlockGroups];
  Interleave(bytes, bits);
  const __m512i one_by_one = _mm512_set1_epi64(static_cast<int64_t>(0x8040201008040201));
#pragma GCC unroll 8
  for (uint64_t g = 0; g < kBlockGroups; ++g) {
    const __m512i group = _mm512_gf2p8affine_epi64_epi8(one_by_one, bits[g], 0);
    _mm512_store_si512(codes + 64 * g, _mm512_permutexvar_epi8(order, group));
  }
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

/// Returns 64 bits as a mask. They go through a register: a load into the mask takes a slot of the
/// ports that multiply, a move from a register half of one, and shifting the mask none.
HWY_INLINE __mmask64 LoadMask64(const void* from) {
  uint64_t bits;
  std::memcpy(&bits, from, sizeof(bits));
  __mmask64 mask;
  asm("kmovq %1, %0" : "=k"(mask) : "r"(bits));
  return mask;
}

/// Returns the bits of a mask from `kFrom` on.
template <uint32_t kFrom>
HWY_INLINE __mmask64 MaskFrom(__mmask64 mask) {
  if constexpr (kFrom == 0) return mask;
  return _kshiftri_mask64(mask, kFrom);
}

/// Prefetches the bytes of planes that codes far ahead are made from. Planes go on from panel to
/// panel, so this spares the wait at the beginning of each, where the CPU does not foresee it.
template <uint32_t kBits>
HWY_INLINE void FetchPlanes(const uint8_t* const (&planes)[kBits], uint64_t at) {
  constexpr uint64_t kAhead = 512;  // bytes: of each plane half of a panel's, or more
#pragma GCC unroll 8
  for (uint32_t p = 0; p < kBits; ++p) _mm_prefetch(planes[p] + at + kAhead, _MM_HINT_T0);
}

}  // namespace sti
HWY_POP_ATTRIBUTES
