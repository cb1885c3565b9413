// Activations in packed form. Four rows go together, so that scales are loaded once for all.
#include "kernels/lowp/targets.h"

// clang-format off
#include "kernels/cpu/highway_targets.h"
#include "hwy/base.h"
// clang-format on

#if HWY_ARCH_X86
#include <immintrin.h>

#include <algorithm>
#include <bit>

#include "kernels/lowp/steps_avx512.h"

HWY_PUSH_ATTRIBUTES(STI_PACKED_ATTRIBUTES)
namespace sti {
namespace {

constexpr uint32_t kBlock = 4;  // rows

/// Rows in front of rounding, and what inputs are multiplied by.
template <bool kHasScales>
struct Source {
  const float* data;
  size_t stride;
  const float* scales;

  /// The same rows from input `k` on.
  [[nodiscard]] HWY_INLINE Source From(uint32_t k) const {
    return {data + k, stride, kHasScales ? scales + k : nullptr};
  }
  [[nodiscard]] HWY_INLINE __m512 Scales(uint32_t k) const {
    if constexpr (kHasScales) return _mm512_loadu_ps(scales + k);
    return _mm512_setzero_ps();
  }
  /// Numbers [k, k + 16) of a row, times scales that are at hand.
  [[nodiscard]] HWY_INLINE __m512 Load(uint32_t row, uint32_t k, __m512 times) const {
    const __m512 x = _mm512_loadu_ps(data + row * stride + k);
    if constexpr (kHasScales) return _mm512_mul_ps(x, times);
    return x;
  }
  /// The same where only `count` are there; the others are zero.
  [[nodiscard]] HWY_INLINE __m512 LoadPart(uint32_t row, uint32_t k, uint32_t count) const {
    const __mmask16 mask = FirstLanes(count);
    const __m512 x = _mm512_maskz_loadu_ps(mask, data + row * stride + k);
    if constexpr (!kHasScales) return x;
    return _mm512_maskz_mul_ps(mask, x, _mm512_maskz_loadu_ps(mask, scales + k));
  }
};

template <bool kHasScales, uint32_t kRows>
void PackHalves(const Source<kHasScales>& in, uint32_t ins, uint32_t* out, size_t out_stride) {
  uint32_t k = 0;
  for (; k + 2 * kLanes <= ins; k += 2 * kLanes) {
    const __m512 low = in.Scales(k);
    const __m512 high = in.Scales(k + kLanes);
#pragma GCC unroll 4
    for (uint32_t r = 0; r < kRows; ++r) {
      _mm512_storeu_si512(out + r * out_stride + k / 2,
                          Halves(in.Load(r, k, low), in.Load(r, k + kLanes, high)));
    }
  }
  if (k == ins) return;
  for (uint32_t r = 0; r < kRows; ++r) {
    const uint32_t left = ins - k;
    const __m512 low = in.LoadPart(r, k, left);
    const __m512 high =
        left > kLanes ? in.LoadPart(r, k + kLanes, left - kLanes) : _mm512_setzero_ps();
    _mm512_storeu_si512(out + r * out_stride + k / 2, Halves(low, high));
  }
}

HWY_INLINE __m512i Larger(__m512i most, __m512 x) {
  return _mm512_max_epi32(most, _mm512_castps_si512(_mm512_abs_ps(x)));
}

/// The factors that turn rows into codes of 8 bits, and the codes' sums, in all lanes together.
template <uint32_t kRows>
struct ByteScales {
  __m512 factors[kRows];
  __mmask16 usable[kRows];
  Ints sums[kRows];
};

// Returns the scales that follow from each row's largest magnitude: its bits are larger than those
// of infinity where there is a NaN.
template <bool kHasScales, uint32_t kRows>
HWY_INLINE ByteScales<kRows> MeasureRows(const Source<kHasScales>& in, uint32_t ins,
                                         const PackedRows& out, uint32_t row) {
  __m512i most[kRows];
#pragma GCC unroll 4
  for (uint32_t r = 0; r < kRows; ++r) most[r] = _mm512_setzero_si512();
  uint32_t k = 0;
  for (; k + kLanes <= ins; k += kLanes) {
    const __m512 times = in.Scales(k);
#pragma GCC unroll 4
    for (uint32_t r = 0; r < kRows; ++r) most[r] = Larger(most[r], in.Load(r, k, times));
  }
  ByteScales<kRows> scales;
#pragma GCC unroll 4
  for (uint32_t r = 0; r < kRows; ++r) {
    if (k < ins) most[r] = Larger(most[r], in.LoadPart(r, k, ins - k));
    const ByteScale byte(std::bit_cast<float>(_mm512_reduce_max_epi32(most[r])));
    out.scales[row + r] = byte.scale;
    scales.factors[r] = _mm512_set1_ps(byte.factor);
    scales.usable[r] = byte.usable ? __mmask16{0xFFFF} : __mmask16{0};
    scales.sums[r] = Ints{};
  }
  return scales;
}

// Zeros of a row that is not usable, whatever it holds.
template <uint32_t kRows>
HWY_INLINE __m512i Rounded(__m512 x, const ByteScales<kRows>& scales, uint32_t r) {
  return _mm512_maskz_cvtps_epi32(scales.usable[r], _mm512_mul_ps(x, scales.factors[r]));
}

template <bool kHasScales, uint32_t kRows>
HWY_INLINE void PackBytes(const Source<kHasScales>& in, uint32_t ins, uint32_t* out,
                          size_t out_stride, ByteScales<kRows>& scales) {
  // Packs work within 16 bytes; this puts dwords back in order.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i ones = _mm512_set1_epi8(1);
  uint32_t k = 0;
  for (; k + 4 * kLanes <= ins; k += 4 * kLanes) {
    __m512 times[4];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; ++i) times[i] = in.Scales(k + i * kLanes);
#pragma GCC unroll 4
    for (uint32_t r = 0; r < kRows; ++r) {
      __m512i codes[4];
#pragma GCC unroll 4
      for (uint32_t i = 0; i < 4; ++i) {
        codes[i] = Rounded(in.Load(r, k + i * kLanes, times[i]), scales, r);
      }
      const __m512i bytes = _mm512_packs_epi16(_mm512_packs_epi32(codes[0], codes[1]),
                                               _mm512_packs_epi32(codes[2], codes[3]));
      scales.sums[r] = AddStep(scales.sums[r], bytes, ones);
      _mm512_storeu_si512(out + r * out_stride + k / 4, _mm512_permutexvar_epi32(order, bytes));
    }
  }
  for (; k < ins; k += kLanes) {
    for (uint32_t r = 0; r < kRows; ++r) {
      const __m512i codes = Rounded(in.LoadPart(r, k, ins - k), scales, r);
      scales.sums[r] += reinterpret_cast<Ints>(codes);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + r * out_stride + k / 4),
                       _mm512_cvtepi32_epi8(codes));
    }
  }
}

// `most` inputs, as many as a chunk has, at a time.
template <ComputeType kType, bool kHasScales, uint32_t kRows>
HWY_INLINE void PackBlock(const Source<kHasScales>& in, uint32_t ins, const PackedRows& out,
                          uint32_t row) {
  const uint32_t most = out.chunk == 0 ? ins : kLeadingSteps * PackedInputs(kType);
  uint32_t* to = out.data + row * out.stride;
  if constexpr (kType == kBf16) {
    for (uint32_t k = 0; k < ins; k += most, to += out.chunk) {
      PackHalves<kHasScales, kRows>(in.From(k), std::min(most, ins - k), to, out.stride);
    }
  } else {
    ByteScales<kRows> scales = MeasureRows<kHasScales, kRows>(in, ins, out, row);
    for (uint32_t k = 0; k < ins; k += most, to += out.chunk) {
      PackBytes<kHasScales, kRows>(in.From(k), std::min(most, ins - k), to, out.stride, scales);
    }
#pragma GCC unroll 4
    for (uint32_t r = 0; r < kRows; ++r) {
      out.starts[row + r] =
          -128 * _mm512_reduce_add_epi32(reinterpret_cast<__m512i>(scales.sums[r]));
    }
  }
}

template <ComputeType kType, bool kHasScales>
void PackAll(const RowsRef& in, const float* scales, const PackedRows& out) {
  Source<kHasScales> source{in.data, in.stride, scales};
  const uint32_t whole = in.rows - in.rows % kBlock;
  for (uint32_t row = 0; row < whole; row += kBlock, source.data += kBlock * in.stride) {
    PackBlock<kType, kHasScales, kBlock>(source, in.ins, out, row);
  }
  for (uint32_t row = whole; row < in.rows; ++row, source.data += in.stride) {
    PackBlock<kType, kHasScales, 1>(source, in.ins, out, row);
  }
}

}  // namespace

void PackRowsFast(ComputeType type, const RowsRef& in, const float* scales, const PackedRows& out) {
  if (type == kBf16) {
    return scales != nullptr ? PackAll<kBf16, true>(in, scales, out)
                             : PackAll<kBf16, false>(in, nullptr, out);
  }
  scales != nullptr ? PackAll<kInt8, true>(in, scales, out)
                    : PackAll<kInt8, false>(in, nullptr, out);
}

}  // namespace sti
HWY_POP_ATTRIBUTES
#endif
