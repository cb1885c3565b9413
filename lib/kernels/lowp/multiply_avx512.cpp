// Packed operands with AVX512_BF16 (two inputs a dword) and AVX512_VNNI (four).
#include "kernels/lowp/targets.h"

// clang-format off
#include "kernels/cpu/highway_targets.h"
#include "hwy/base.h"
// clang-format on

#if HWY_ARCH_X86
#include <immintrin.h>

#include "kernels/lowp/steps_avx512.h"

HWY_PUSH_ATTRIBUTES(STI_PACKED_ATTRIBUTES)
namespace sti {
namespace {

constexpr uint32_t kMaxRows = 12;

// As Block in gemm.cpp: rows are addressed from every third one.
template <ComputeType kType, uint32_t kRows, uint32_t kVectors>
void Block(const PackedProduct& p, uint32_t row) {
  typename StepSums<kType>::Type sums[kRows][kVectors];
#pragma GCC unroll 16
  for (uint32_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (uint32_t v = 0; v < kVectors; ++v) BeginSums(p.a, row + r, sums[r][v]);
  }
  constexpr uint32_t kBases = (kRows + 2) / 3;
  const uint32_t* base[kBases];
  const size_t stride = p.a.stride;
#pragma GCC unroll 8
  for (uint32_t i = 0; i < kBases; ++i) base[i] = p.a.data + (row + 3 * i) * stride;
  for (uint32_t step = 0; step < p.steps; ++step) {
    __m512i w[kVectors];
#pragma GCC unroll 2
    for (uint32_t v = 0; v < kVectors; ++v) {
      w[v] = _mm512_load_si512(p.panels[v] + size_t{step} * kLanes);
    }
#pragma GCC unroll 16
    for (uint32_t r = 0; r < kRows; ++r) {
      const __m512i x = _mm512_set1_epi32(static_cast<int>(base[r / 3][(r % 3) * stride]));
#pragma GCC unroll 2
      for (uint32_t v = 0; v < kVectors; ++v) sums[r][v] = AddStep(sums[r][v], x, w[v]);
    }
#pragma GCC unroll 8
    for (uint32_t i = 0; i < kBases; ++i) ++base[i];
  }
#pragma GCC unroll 2
  for (uint32_t v = 0; v < kVectors; ++v) {
    const __mmask16 mask = FirstLanes(p.width - v * kLanes);
    const __m512 units = _mm512_loadu_ps(p.units + v * kLanes);
#pragma GCC unroll 16
    for (uint32_t r = 0; r < kRows; ++r) {
      float* c = p.c + (row + r) * p.c_stride + v * kLanes;
      const float* from = p.start != nullptr ? p.start + v * kLanes : c;
      const __m512 old = _mm512_maskz_loadu_ps(mask, from);
      _mm512_mask_storeu_ps(c, mask, FinishSums(p.a, row + r, sums[r][v], units, old));
    }
  }
}

template <ComputeType kType, uint32_t kVectors, uint32_t kRows = kMaxRows>
void BlockOf(uint32_t rows, const PackedProduct& p, uint32_t row) {
  if constexpr (kRows > 0) {
    if (rows == kRows) return Block<kType, kRows, kVectors>(p, row);
    BlockOf<kType, kVectors, kRows - 1>(rows, p, row);
  }
}

// Blocks of nearly equal height.
template <ComputeType kType, uint32_t kVectors>
void Rows(const PackedProduct& p) {
  const uint32_t blocks = (p.rows + kMaxRows - 1) / kMaxRows;
  uint32_t row = 0;
  for (uint32_t block = 0; block < blocks; ++block) {
    const uint32_t rows = (p.rows - row) / (blocks - block);
    BlockOf<kType, kVectors>(rows, p, row);
    row += rows;
  }
}

}  // namespace

bool PackWeightsFast(ComputeType type, const float* weights, uint32_t ins, const float* factors,
                     uint32_t* out) {
  const __m512 factor = _mm512_loadu_ps(factors);
  if (type == kBf16) {
    // Words of two rows, one after the other, become pairs.
    alignas(64) uint16_t pairs[32];
    for (uint16_t i = 0; i < 32; ++i) pairs[i] = static_cast<uint16_t>(i / 2 + i % 2 * 16);
    const __m512i order = _mm512_load_si512(pairs);
    for (uint32_t k = 0; k < ins; k += 2) {
      const __m512 low = _mm512_mul_ps(_mm512_loadu_ps(weights + size_t{k} * kLanes), factor);
      const __m512 high = _mm512_mul_ps(_mm512_loadu_ps(weights + size_t{k + 1} * kLanes), factor);
      const auto words = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
      _mm512_store_si512(out + size_t{k} / 2 * kLanes, _mm512_permutexvar_epi16(order, words));
    }
    return false;
  }
  const __m512 most = _mm512_set1_ps(127);
  const __m512i offset = _mm512_set1_epi32(128);
  const __m512i low_byte = _mm512_set1_epi32(255);
  __mmask16 beyond = 0;
  for (uint32_t k = 0; k < ins; k += 4) {
    __m512i dwords = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; ++i) {
      __m512 x = _mm512_mul_ps(_mm512_loadu_ps(weights + size_t{k + i} * kLanes), factor);
      beyond |= _mm512_cmp_ps_mask(_mm512_abs_ps(x), most, _CMP_NLE_UQ);
      x = _mm512_min_ps(_mm512_max_ps(x, _mm512_sub_ps(_mm512_setzero_ps(), most)), most);
      const __m512i code = _mm512_add_epi32(_mm512_cvtps_epi32(x), offset);
      dwords = _mm512_or_si512(
          dwords, _mm512_slli_epi32(_mm512_and_si512(code, low_byte), static_cast<int>(8 * i)));
    }
    _mm512_store_si512(out + size_t{k} / 4 * kLanes, dwords);
  }
  return beyond != 0;
}

void MeasureOutputsFast(const float* weights, uint32_t ins, float* squares, float* largest) {
  __m512 sum = _mm512_setzero_ps();
  __m512 most = _mm512_setzero_ps();
  for (uint32_t k = 0; k < ins; ++k) {
    const __m512 w = _mm512_loadu_ps(weights + size_t{k} * kLanes);
    sum = _mm512_fmadd_ps(w, w, sum);
    most = _mm512_max_ps(most, _mm512_abs_ps(w));
  }
  _mm512_storeu_ps(squares, sum);
  _mm512_storeu_ps(largest, most);
}

void MultiplyPackedFast(ComputeType type, const PackedProduct& p) {
  const bool two = p.width > kLanes;
  if (type == kBf16) return two ? Rows<kBf16, 2>(p) : Rows<kBf16, 1>(p);
  return two ? Rows<kInt8, 2>(p) : Rows<kInt8, 1>(p);
}

}  // namespace sti
HWY_POP_ATTRIBUTES
#endif
