// One step of a low-precision product: sixteen outputs, one dword of inputs. For the files of that
// instruction set alone; they are compiled on x86 only.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "hwy/base.h"
#include "kernels/lowp/panels.h"

// GCC 12 takes the undefined vectors of its own header for a mistake of ours.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#define STI_PACKED_ATTRIBUTES \
  "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vnni,avx512bf16,gfni,bmi,bmi2,fma"

HWY_PUSH_ATTRIBUTES(STI_PACKED_ATTRIBUTES)
namespace sti {

inline constexpr ComputeType kBf16 = ComputeType::kBf16;
inline constexpr ComputeType kInt8 = ComputeType::kInt8;
inline constexpr uint32_t kLanes = 16;

/// Returns a mask of the first `count` lanes, or all.
HWY_INLINE __mmask16 FirstLanes(uint32_t count) {
  return count >= kLanes ? __mmask16{0xFFFF} : static_cast<__mmask16>((1U << count) - 1);
}

/// Returns 32 floats rounded to bf16, those of `low` first.
HWY_INLINE __m512i Halves(__m512 low, __m512 high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

// Not __m512i, which GCC takes for eight numbers: it then keeps sums in memory over the loop.
using Ints = int32_t __attribute__((vector_size(64)));

/// Sixteen sums, of floats or of integers.
template <ComputeType kType>
struct StepSums {
  using Type = __m512;
};
template <>
struct StepSums<ComputeType::kInt8> {
  using Type = Ints;
};

HWY_INLINE void BeginSums(const PackedRows& /*a*/, uint32_t /*row*/, __m512& sums) {
  sums = _mm512_setzero_ps();
}
HWY_INLINE void BeginSums(const PackedRows& a, uint32_t row, Ints& sums) {
  sums = reinterpret_cast<Ints>(_mm512_set1_epi32(a.starts[row]));
}

HWY_INLINE __m512 AddStep(__m512 sums, __m512i x, __m512i w) {
  return _mm512_dpbf16_ps(sums, reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(w));
}
HWY_INLINE Ints AddStep(Ints sums, __m512i x, __m512i w) {
  return reinterpret_cast<Ints>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums), w, x));
}

/// Adds a step of a dword that all lanes share. GCC 12 loads it first, into a vector; as part of
/// the product the load costs nothing, while a core takes no more than one vector a cycle.
HWY_INLINE __m512 AddSharedStep(__m512 sums, const uint32_t* x, __m512i w) {
  asm("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(sums) : "v"(w), "m"(*x));
  return sums;
}
HWY_INLINE Ints AddSharedStep(Ints sums, const uint32_t* x, __m512i w) {
  asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sums) : "v"(w), "m"(*x));
  return sums;
}

/// Returns c plus what the sums of a row stand for.
HWY_INLINE __m512 FinishSums(const PackedRows& /*a*/, uint32_t /*row*/, __m512 sums, __m512 units,
                             __m512 c) {
  return _mm512_fmadd_ps(sums, units, c);
}
HWY_INLINE __m512 FinishSums(const PackedRows& a, uint32_t row, Ints sums, __m512 units, __m512 c) {
  const __m512 numbers = _mm512_cvtepi32_ps(reinterpret_cast<__m512i>(sums));
  return _mm512_fmadd_ps(_mm512_mul_ps(numbers, units), _mm512_set1_ps(a.scales[row]), c);
}

}  // namespace sti
HWY_POP_ATTRIBUTES
