// Four inputs of sixteen outputs at a time: 64 codes are put together from their planes, looked up,
// scaled, and multiplied by up to sixteen rows, whose sums stay in registers throughout.
#include "kernels/fp32/fused.h"

// clang-format off
#include "kernels/cpu/highway_targets.h"
#include "hwy/base.h"
// clang-format on

#if HWY_ARCH_X86
#include <immintrin.h>

#include <algorithm>
#include <bit>

#include "kernels/cpu/plane_codes_avx512.h"
#include "kernels/cpu/with_bits.h"

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,gfni,bmi,bmi2,fma")
namespace sti {
namespace {

constexpr uint32_t kLanes = 16;
constexpr uint32_t kGroup = 4;  // inputs

enum class Scales : uint8_t { kNone, kInputs, kOutputs };

/// Look-ups of sixteen floats by codes of kBits.
template <uint32_t kBits>
class Table {
 public:
  explicit Table(const float* centroids) {
    alignas(64) float table[2 * kLanes] = {};
    for (uint32_t i = 0; i < 1U << kBits; ++i) table[i] = centroids[i];
    low_ = _mm512_load_ps(table);
    high_ = _mm512_load_ps(table + kLanes);
  }
  // Byte i of dword o is input i's code for output o; look-ups ignore higher bits.
  HWY_INLINE static __m512i Order() {
    static constexpr CodeOrder kOrder({0, 1, 2, 3});
    return kOrder.Load();
  }
  HWY_INLINE void LookUp(__m512i codes, __m512 (&w)[kGroup]) const {
    w[0] = Look(codes);
    w[1] = Look(_mm512_srli_epi32(codes, 8));
    w[2] = Look(_mm512_srli_epi32(codes, 16));
    w[3] = Look(_mm512_srli_epi32(codes, 24));
  }

 private:
  HWY_INLINE __m512 Look(__m512i index) const {
    if constexpr (kBits <= 4) return _mm512_permutexvar_ps(index, low_);
    return _mm512_permutex2var_ps(low_, index, high_);
  }
  __m512 low_;
  __m512 high_;
};

/// 64 floats are too many for a look-up of floats, but not the halves of them: two look-ups of
/// words give 32 floats.
template <>
class Table<6> {
 public:
  explicit Table(const float* centroids) {
    alignas(64) uint16_t low[64];
    alignas(64) uint16_t high[64];
    for (uint32_t i = 0; i < 64; ++i) {
      const auto bits = std::bit_cast<uint32_t>(centroids[i]);
      low[i] = static_cast<uint16_t>(bits);
      high[i] = static_cast<uint16_t>(bits >> 16);
    }
    for (uint32_t i = 0; i < 2; ++i) {
      low_[i] = _mm512_load_si512(low + size_t{32} * i);
      high_[i] = _mm512_load_si512(high + size_t{32} * i);
    }
  }
  // Words in the order in which unpacking brings them together again: in each 16 bytes, four
  // outputs of one input, then of the next; inputs 0 and 1 in the low bytes, 2 and 3 in the high.
  static __m512i Order() {
    alignas(64) uint8_t bytes[64];
    for (uint32_t i = 0; i < 64; ++i) {
      const uint32_t word = i / 2;
      const uint32_t output = word / 8 * 4 + word % 4;
      const uint32_t input = word / 4 % 2 + i % 2 * 2;
      bytes[i] = static_cast<uint8_t>(input * kLanes + output);
    }
    return _mm512_load_si512(bytes);
  }
  HWY_INLINE void LookUp(__m512i codes, __m512 (&w)[kGroup]) const {
    Pair(codes, w[0], w[1]);
    Pair(_mm512_srli_epi16(codes, 8), w[2], w[3]);
  }

 private:
  HWY_INLINE void Pair(__m512i index, __m512& a, __m512& b) const {
    const __m512i low = _mm512_permutex2var_epi16(low_[0], index, low_[1]);
    const __m512i high = _mm512_permutex2var_epi16(high_[0], index, high_[1]);
    a = _mm512_castsi512_ps(_mm512_unpacklo_epi16(low, high));
    b = _mm512_castsi512_ps(_mm512_unpackhi_epi16(low, high));
  }
  __m512i low_[2];
  __m512i high_[2];
};

/// Sums of kRows rows. Not an array: over a loop that also writes, GCC 12 keeps arrays in memory.
template <uint32_t kRows>
struct Sums {
  __m512 first;
  Sums<kRows - 1> rest;

  /// Rows that are not there repeat the last one.
  HWY_INLINE void Load(const float* c, size_t stride, uint32_t rows) {
    first = _mm512_loadu_ps(c);
    rest.Load(rows > 1 ? c + stride : c, stride, rows > 1 ? rows - 1 : rows);
  }
  HWY_INLINE void Add(const float* a, __m512 w) {
    first = _mm512_fmadd_ps(_mm512_set1_ps(*a), w, first);
    rest.Add(a + 1, w);
  }
  HWY_INLINE void Store(float* c, size_t stride, uint32_t rows) const {
    if (rows == 0) return;
    _mm512_storeu_ps(c, first);
    rest.Store(c + stride, stride, rows - 1);
  }
};
template <>
struct Sums<0> {
  HWY_INLINE void Load(const float* /*c*/, size_t /*stride*/, uint32_t /*rows*/) {}
  HWY_INLINE void Add(const float* /*a*/, __m512 /*w*/) {}
  HWY_INLINE void Store(float* /*c*/, size_t /*stride*/, uint32_t /*rows*/) const {}
};

/// Where a group's four inputs are.
struct Place {
  const float* values;
  __mmask64 mask;  ///< sixteen bits for each
  const float* a;
  float* decoded;
};

template <Scales kScales>
struct Scaling {
  __m512 of_outputs;
  const float* of_inputs;
};

// The group's input kInput, with its looked-up weights.
template <uint32_t kInput, bool kKeep, Scales kScales, uint32_t kRows>
HWY_INLINE void AddInput(const Scaling<kScales>& scaling, const Place& at, __m512 w,
                         Sums<kRows>& sums) {
  if constexpr (kScales == Scales::kInputs) {
    w = _mm512_mul_ps(w, _mm512_set1_ps(scaling.of_inputs[kInput]));
  } else if constexpr (kScales == Scales::kOutputs) {
    w = _mm512_mul_ps(w, scaling.of_outputs);
  }
  const auto mask = static_cast<__mmask16>(MaskFrom<kInput * kLanes>(at.mask));
  w = _mm512_mask_load_ps(w, mask, at.values + kInput * kLanes);
  if constexpr (kKeep) _mm512_store_ps(at.decoded + kInput * kLanes, w);
  sums.Add(at.a + kInput * kFusedRows, w);
}

template <uint32_t kBits, Scales kScales, uint32_t kRows, bool kKeep = false>
void Multiply(const FusedProduct& p, const float* scales) {
  const uint8_t* planes[kBits];
  for (uint32_t i = 0; i < kBits; ++i) planes[i] = p.shard.planes[i] + p.stretch.first() / 8;
  const Table<kBits> table(p.shard.centroids);
  const __m512i order = Table<kBits>::Order();
  __m512 output_scales = _mm512_setzero_ps();
  if constexpr (kScales == Scales::kOutputs) output_scales = _mm512_loadu_ps(scales);
  const float* values = p.overlay.values;
  const uint16_t* masks = p.overlay.masks;
  const float* a = p.a;
  float* decoded = p.decoded;
  Sums<kRows> sums;
  p.start != nullptr ? sums.Load(p.start, 0, p.rows) : sums.Load(p.c, p.c_stride, p.rows);
  const uint64_t ins = p.stretch.ins;
  alignas(64) uint8_t codes[64 * kBlockGroups];
  constexpr uint64_t kBlock = kGroup * kBlockGroups;
  for (uint64_t first = 0; first < ins; first += kBlock) {
    PlaneBlock<kBits>(planes, 2 * first, 2 * (ins - first), order, codes);
    FetchPlanes<kBits>(planes, 2 * first);
    const uint64_t end = std::min(ins, first + kBlock);
    for (uint64_t k = first; k < end; k += kGroup) {
      __m512 w[kGroup];
      table.LookUp(_mm512_load_si512(codes + 16 * (k - first)), w);
      const Scaling<kScales> scaling{output_scales, scales + (kScales == Scales::kInputs ? k : 0)};
      const Place place{values, LoadMask64(masks + k), a, decoded};
      AddInput<0, kKeep>(scaling, place, w[0], sums);
      AddInput<1, kKeep>(scaling, place, w[1], sums);
      AddInput<2, kKeep>(scaling, place, w[2], sums);
      AddInput<3, kKeep>(scaling, place, w[3], sums);
      values += kGroup * kLanes;
      if constexpr (kKeep) decoded += kGroup * kLanes;
      a += kGroup * kFusedRows;
    }
  }
  sums.Store(p.c, p.c_stride, p.rows);
}

template <uint32_t kBits, Scales kScales>
void MultiplyRows(const FusedProduct& p, const float* scales) {
  // FusedRows leaves some rows to others only if it takes 12 or 16.
  if (p.decoded != nullptr) {
    return p.rows <= 12 ? Multiply<kBits, kScales, 12, true>(p, scales)
                        : Multiply<kBits, kScales, 16, true>(p, scales);
  }
  if (p.rows <= 1) return Multiply<kBits, kScales, 1>(p, scales);
  if (p.rows <= 2) return Multiply<kBits, kScales, 2>(p, scales);
  if (p.rows <= 4) return Multiply<kBits, kScales, 4>(p, scales);
  if (p.rows <= 6) return Multiply<kBits, kScales, 6>(p, scales);
  if (p.rows <= 8) return Multiply<kBits, kScales, 8>(p, scales);
  if (p.rows <= 10) return Multiply<kBits, kScales, 10>(p, scales);
  if (p.rows <= 12) return Multiply<kBits, kScales, 12>(p, scales);
  if (p.rows <= 14) return Multiply<kBits, kScales, 14>(p, scales);
  Multiply<kBits, kScales, 16>(p, scales);
}

template <uint32_t kBits>
void MultiplyScaled(const FusedProduct& p) {
  if (p.shard.scales == nullptr) return MultiplyRows<kBits, Scales::kNone>(p, nullptr);
  const ShardMatrix& matrix = p.stretch.matrix;
  const float* scales = p.shard.scales + matrix.scales;
  if (matrix.scaled_by_output) {
    return MultiplyRows<kBits, Scales::kOutputs>(p, scales + p.stretch.out);
  }
  MultiplyRows<kBits, Scales::kInputs>(p, scales + p.stretch.in);
}

// Four numbers of rows r, r + 4, r + 8 and r + 12.
HWY_INLINE __m512 FourRows(const float* const (&from)[kFusedRows], uint32_t r) {
  __m512 numbers = _mm512_castps128_ps512(_mm_loadu_ps(from[r]));
  numbers = _mm512_insertf32x4(numbers, _mm_loadu_ps(from[r + 4]), 1);
  numbers = _mm512_insertf32x4(numbers, _mm_loadu_ps(from[r + 8]), 2);
  return _mm512_insertf32x4(numbers, _mm_loadu_ps(from[r + 12]), 3);
}

}  // namespace

void InterleaveRowsAvx512(const float* in, size_t stride, uint32_t rows, uint32_t ins, float* out) {
  static constexpr float kZeros[4] = {};
  const float* from[kFusedRows];
  for (uint32_t r = 0; r < kFusedRows; ++r) from[r] = r < rows ? in + r * stride : kZeros;
  for (uint32_t k = 0; k < ins; k += 4, out += 4 * kFusedRows) {
    const __m512 a = FourRows(from, 0);
    const __m512 b = FourRows(from, 1);
    const __m512 c = FourRows(from, 2);
    const __m512 d = FourRows(from, 3);
    // Within 16 bytes, four inputs of four rows become four rows of four inputs.
    const __m512 ab[2] = {_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)};
    const __m512 cd[2] = {_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d)};
    for (uint32_t i = 0; i < 2; ++i) {
      float* to = out + size_t{2} * i * kFusedRows;
      _mm512_storeu_ps(to, _mm512_shuffle_ps(ab[i], cd[i], 0x44));
      _mm512_storeu_ps(to + kFusedRows, _mm512_shuffle_ps(ab[i], cd[i], 0xEE));
    }
    for (uint32_t r = 0; r < rows; ++r) from[r] += 4;
  }
}

void MultiplyDecodingAvx512(const FusedProduct& p) {
  WithBits(p.shard.bits, [&](auto bits) { MultiplyScaled<bits>(p); });
}

}  // namespace sti
HWY_POP_ATTRIBUTES

#else

namespace sti {
// Never called: HasByteLookups and CanFuse say no.
void InterleaveRowsAvx512(const float*, size_t, uint32_t, uint32_t, float*) {}
void MultiplyDecodingAvx512(const FusedProduct& /*product*/) {}
}  // namespace sti

#endif
