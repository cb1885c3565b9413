// Parts of attention beside products, with AVX512_BF16: keys turned, values paired, softmax.
#include "kernels/lowp_attention.h"

// clang-format off
#include "kernels/cpu/highway_targets.h"
#include "hwy/base.h"
// clang-format on

#if HWY_ARCH_X86
#include <immintrin.h>

#include <algorithm>
#include <limits>

#include "kernels/lowp/steps_avx512.h"
#include "kernels/lowp/targets.h"

HWY_PUSH_ATTRIBUTES(STI_PACKED_ATTRIBUTES)
namespace sti {
namespace {

// Columns of 32-bit numbers become rows: within 128 bits first, then these among one another.
HWY_INLINE void Turn(__m512i (&x)[kLanes]) {
  __m512i y[kLanes];
#pragma GCC unroll 8
  for (uint32_t i = 0; i < kLanes; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
#pragma GCC unroll 4
  for (uint32_t i = 0; i < kLanes; i += 4) {
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
#pragma GCC unroll 4
  for (uint32_t i = 0; i < 4; ++i) {
    const __m512i even_low = _mm512_shuffle_i32x4(x[i], x[i + 4], 0x88);
    const __m512i odd_low = _mm512_shuffle_i32x4(x[i], x[i + 4], 0xDD);
    const __m512i even_high = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0x88);
    const __m512i odd_high = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0xDD);
    y[i] = _mm512_shuffle_i32x4(even_low, even_high, 0x88);
    y[i + 4] = _mm512_shuffle_i32x4(odd_low, odd_high, 0x88);
    y[i + 8] = _mm512_shuffle_i32x4(even_low, even_high, 0xDD);
    y[i + 12] = _mm512_shuffle_i32x4(odd_low, odd_high, 0xDD);
  }
#pragma GCC unroll 16
  for (uint32_t i = 0; i < kLanes; ++i) x[i] = y[i];
}

// 2^x for x <= 0, and NaN for NaN: a polynomial of what is left of x below its whole part,
// interpolated at Chebyshev nodes for this file. Error 4e-6 of the result, a five-hundredth of what
// rounding it to bfloat16 does.
HWY_INLINE __m512 Exp2(__m512 x) {
  constexpr int kDown = 1;  // to the whole number below
  const __m512 rest = _mm512_reduce_ps(x, kDown);
  __m512 y = _mm512_set1_ps(0.0136703095f);
  y = _mm512_fmadd_ps(y, rest, _mm512_set1_ps(0.0517449978f));
  y = _mm512_fmadd_ps(y, rest, _mm512_set1_ps(0.241604357f));
  y = _mm512_fmadd_ps(y, rest, _mm512_set1_ps(0.692972922f));
  y = _mm512_fmadd_ps(y, rest, _mm512_set1_ps(1.00000349f));
  return _mm512_scalef_ps(y, x);  // takes x's whole part itself
}

}  // namespace

bool CanPackAttention() { return HasPackedInstructions(ComputeType::kBf16); }

void PackKeysAvx512(const RowsRef& keys, uint32_t* out) {
  const uint32_t steps = PackedSteps(ComputeType::kBf16, keys.ins);
  for (uint32_t key = 0; key < keys.rows; key += kLanes) {
    const uint32_t rows = std::min(kLanes, keys.rows - key);
    for (uint32_t step = 0; step < steps; step += kLanes) {
      const uint32_t left = keys.ins - 2 * step;
      const __mmask16 low = FirstLanes(left);
      const __mmask16 high = left > kLanes ? FirstLanes(left - kLanes) : __mmask16{0};
      const float* from = keys.data + key * keys.stride + size_t{2} * step;
      __m512i x[kLanes];
#pragma GCC unroll 16
      for (uint32_t i = 0; i < kLanes; ++i) {
        x[i] = _mm512_setzero_si512();
        if (i < rows) {
          const float* row = from + i * keys.stride;
          x[i] = Halves(_mm512_maskz_loadu_ps(low, row), _mm512_maskz_loadu_ps(high, row + kLanes));
        }
      }
      Turn(x);
      uint32_t* to = out + (size_t{key} * steps + size_t{step} * kLanes);
      const uint32_t count = std::min(kLanes, steps - step);
#pragma GCC unroll 16
      for (uint32_t i = 0; i < kLanes; ++i) {
        if (i < count) _mm512_store_si512(to + i * kLanes, x[i]);
      }
    }
  }
}

void PackValuesAvx512(const RowsRef& values, uint32_t* out) {
  // Halves of two tokens, one after the other, become pairs.
  alignas(64) uint16_t pairs[2 * kLanes];
  for (uint16_t i = 0; i < 2 * kLanes; ++i) {
    pairs[i] = static_cast<uint16_t>(i / 2 + i % 2 * kLanes);
  }
  const __m512i order = _mm512_load_si512(pairs);
  const size_t panel = size_t{PackedSteps(ComputeType::kBf16, values.rows)} * kLanes;
  for (uint32_t token = 0; token < values.rows; token += 2) {
    const float* row = values.data + token * values.stride;
    uint32_t* to = out + size_t{token} / 2 * kLanes;
    for (uint32_t column = 0; column < values.ins; column += kLanes, to += panel) {
      const __mmask16 mask = FirstLanes(values.ins - column);
      const __m512 low = _mm512_maskz_loadu_ps(mask, row + column);
      const __m512 high = token + 1 < values.rows
                              ? _mm512_maskz_loadu_ps(mask, row + values.stride + column)
                              : _mm512_setzero_ps();
      _mm512_store_si512(to, _mm512_permutexvar_epi16(order, Halves(low, high)));
    }
  }
}

void SoftmaxPackedAvx512(float* row, uint32_t count) {
  const uint32_t end = (count + kLanes - 1) / kLanes * kLanes;
  const __m512 lowest = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  if (count < end) {
    float* last = row + end - kLanes;
    const __mmask16 mask = FirstLanes(count % kLanes);
    // A whole store: what follows cannot be read from behind one with a mask.
    _mm512_store_ps(last, _mm512_mask_mov_ps(lowest, mask, _mm512_load_ps(last)));
  }
  __m512 top = lowest;
  for (uint32_t i = 0; i < end; i += kLanes) top = _mm512_max_ps(top, _mm512_load_ps(row + i));
  const __m512 most = _mm512_set1_ps(_mm512_reduce_max_ps(top));
  __m512 sums = _mm512_setzero_ps();
  for (uint32_t i = 0; i < end; i += kLanes) {
    const __m512 y = Exp2(_mm512_sub_ps(_mm512_load_ps(row + i), most));
    sums = _mm512_add_ps(sums, y);
    _mm512_store_ps(row + i, y);
  }
  const __m512 inverse = _mm512_set1_ps(1 / _mm512_reduce_add_ps(sums));
  for (uint32_t i = 0; i < end; i += 2 * kLanes) {
    const __m512 low = _mm512_mul_ps(_mm512_load_ps(row + i), inverse);
    const __m512 high = i + kLanes < end ? _mm512_mul_ps(_mm512_load_ps(row + i + kLanes), inverse)
                                         : _mm512_setzero_ps();
    _mm512_store_si512(row + i / 2, Halves(low, high));
  }
}

}  // namespace sti
HWY_POP_ATTRIBUTES

#else

// No more than this is called.
namespace sti {
bool CanPackAttention() { return false; }
void PackKeysAvx512(const RowsRef&, uint32_t*) {}
void PackValuesAvx512(const RowsRef&, uint32_t*) {}
void SoftmaxPackedAvx512(float*, uint32_t) {}
}  // namespace sti

#endif
