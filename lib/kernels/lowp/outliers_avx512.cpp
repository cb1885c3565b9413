// Outliers in packed form, sixteen at a time. One in 170 weights, they took an eighth of a layer
// of 16 tokens when each was rounded on its own.
#include "kernels/lowp/targets.h"

// clang-format off
#include "kernels/cpu/highway_targets.h"
#include "hwy/base.h"
// clang-format on

#if HWY_ARCH_X86
#include <immintrin.h>

#include <bit>
#include <type_traits>

#include "kernels/fp32/outliers.h"
#include "kernels/lowp/steps_avx512.h"

HWY_PUSH_ATTRIBUTES(STI_PACKED_ATTRIBUTES)
namespace sti {
namespace {

/// Sixteen outliers: where they are in the panel, and what codes they have.
struct Codes {
  __m512i in;
  __m512i out;
  __m512i values;     ///< packed
  __mmask16 reached;  ///< the others have no code
};

template <ComputeType kType>
HWY_INLINE void Round(__m512 code, Codes& codes) {
  const __m512 size = _mm512_abs_ps(code);
  if constexpr (kType == kInt8) {
    codes.reached = _mm512_cmp_ps_mask(size, _mm512_set1_ps(127), _CMP_LE_OQ);
    codes.values = _mm512_add_epi32(_mm512_cvtps_epi32(code), _mm512_set1_epi32(128));
  } else {
    codes.reached = _mm512_cmp_ps_mask(size, _mm512_set1_ps(3e38f), _CMP_LT_OQ);
    const __m256bh halves = _mm512_cvtneps_pbh(code);
    codes.values = _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(halves));
  }
}

/// The scales that outliers are divided by.
class Scales {
 public:
  explicit Scales(const OutlierPatch& p)
      : scales_(p.scales), ins_(_mm512_set1_epi32(static_cast<int>(p.ins))) {
    by_output_ = p.by_output && scales_ != nullptr;
    if (!by_output_) return;
    outputs_[0] = _mm512_loadu_ps(scales_);
    outputs_[1] = p.panels > 1 ? _mm512_loadu_ps(scales_ + kLanes) : outputs_[0];
  }
  /// Returns the scales for `in` and `out`; inputs of the second panel are numbered on from the
  /// first.
  [[nodiscard]] HWY_INLINE __m512 Of(__m512i in, __m512i out) const {
    static_assert(kTilePanels == 2);
    if (scales_ == nullptr) return _mm512_set1_ps(1);
    const __mmask16 second = _mm512_cmpge_epu32_mask(in, ins_);
    if (by_output_) {
      const __m512i index = _mm512_mask_add_epi32(out, second, out, _mm512_set1_epi32(kLanes));
      return _mm512_permutex2var_ps(outputs_[0], index, outputs_[1]);
    }
    return _mm512_i32gather_ps(_mm512_mask_sub_epi32(in, second, in, ins_), scales_, sizeof(float));
  }

 private:
  const float* scales_;
  __m512i ins_;
  bool by_output_ = false;
  __m512 outputs_[kTilePanels];
};

template <ComputeType kType>
HWY_INLINE Codes CodesOf(const OutlierPatch& p, const Scales& scales, __m512i at, __m512 weights) {
  Codes codes;
  codes.in = _mm512_srli_epi32(at, 4);
  codes.out = _mm512_and_si512(at, _mm512_set1_epi32(kLanes - 1));
  const __m512 code = _mm512_mul_ps(weights, _mm512_set1_ps(p.factor));
  Round<kType>(_mm512_div_ps(code, scales.Of(codes.in, codes.out)), codes);
  return codes;
}

// Puts all lanes, whatever they are: those that have no code go in front of the overlay.
template <ComputeType kType>
HWY_INLINE void Put(const OutlierPatch& p, const Codes& codes) {
  constexpr int kShift = kType == kInt8 ? 2 : 1;  // log2 of a step's inputs
  const __m512i step = _mm512_srli_epi32(codes.in, kShift);
  const __m512i within = _mm512_and_si512(codes.in, _mm512_set1_epi32((1 << kShift) - 1));
  const __m512i row = _mm512_add_epi32(_mm512_slli_epi32(step, 4), codes.out);
  const __m512i place = _mm512_add_epi32(_mm512_slli_epi32(row, kShift), within);
  const __m512i front = _mm512_set1_epi32(-1);
  alignas(64) int32_t places[kLanes];
  alignas(64) uint32_t values[kLanes];
  _mm512_store_si512(places, _mm512_mask_mov_epi32(front, codes.reached, place));
  _mm512_store_si512(values, _mm512_xor_si512(codes.values, _mm512_set1_epi32(p.base)));
  using Code = std::conditional_t<kType == kInt8, uint8_t, uint16_t>;
  Code* const overlay = reinterpret_cast<Code*>(p.overlay);
#pragma GCC unroll 16
  for (uint32_t i = 0; i < kLanes; ++i) overlay[places[i]] = static_cast<Code>(values[i]);
}

// Puts `count` outliers. Writes which of them have no code, and returns how many these are.
template <ComputeType kType>
uint32_t PutChunk(const OutlierPatch& p, int64_t offset, const uint8_t* lows, const float* weights,
                  uint32_t count, uint8_t* far) {
  const Scales scales(p);
  uint32_t left = 0;
  for (uint32_t i = 0; i < count; i += kLanes) {
    const __mmask16 mask = FirstLanes(count - i);
    const __m256i low = _mm256_maskz_loadu_epi16(mask, lows + 2 * size_t{i});
    const __m512i at = _mm512_add_epi32(_mm512_cvtepu16_epi32(low),
                                        _mm512_set1_epi32(static_cast<int32_t>(offset)));
    // Lanes past the end read the first weight's scale, and are not put.
    Codes codes = CodesOf<kType>(p, scales, _mm512_maskz_mov_epi32(mask, at),
                                 _mm512_maskz_loadu_ps(mask, weights + i));
    uint32_t beyond = mask & ~uint32_t{codes.reached};
    codes.reached = static_cast<__mmask16>(mask & codes.reached);
    Put<kType>(p, codes);
    for (; beyond != 0; beyond &= beyond - 1) {
      far[left++] = static_cast<uint8_t>(i + static_cast<uint32_t>(std::countr_zero(beyond)));
    }
  }
  return left;
}

}  // namespace

uint32_t PutOutliersFast(ComputeType type, const OutlierPatch& patch, int64_t offset,
                         const uint8_t* lows, const float* weights, uint32_t count, uint8_t* far) {
  static_assert(kOutlierChunk <= 256, "their numbers are bytes");
  return type == kInt8 ? PutChunk<kInt8>(patch, offset, lows, weights, count, far)
                       : PutChunk<ComputeType::kBf16>(patch, offset, lows, weights, count, far);
}

}  // namespace sti
HWY_POP_ATTRIBUTES
#endif
