// Four inputs of sixteen outputs at a time: 64 codes are put together from their planes, looked up
// in packed form, patched with outliers, kept if more rows follow, and multiplied by up to sixteen
// rows, whose sums stay in registers throughout. Without such rows it is the look-up alone. An
// outlier's code is 0, so its overlay holds what it differs by from the first word: no masks.
#include "kernels/lowp/targets.h"

// clang-format off
#include "kernels/cpu/highway_targets.h"
#include "hwy/base.h"
// clang-format on

#if HWY_ARCH_X86
#include <immintrin.h>

#include <algorithm>
#include <cassert>

#include "kernels/cpu/plane_codes_avx512.h"
#include "kernels/cpu/with_bits.h"
#include "kernels/lowp/steps_avx512.h"

HWY_PUSH_ATTRIBUTES(STI_PACKED_ATTRIBUTES)
namespace sti {
namespace {

constexpr uint32_t kGroup = 4;  // inputs

/// Packed centroids of 64 codes: 32 steps' dwords in bf16, 16 in 8 bits.
template <ComputeType kType, uint32_t kBits>
class Table;

template <uint32_t kBits>
class Table<kInt8, kBits> {
 public:
  static constexpr uint32_t kSteps = 1;  // of a group
  explicit Table(const uint16_t* words) {
    alignas(64) uint8_t bytes[64];
    for (int i = 0; i < 64; ++i) bytes[i] = static_cast<uint8_t>(words[i]);
    centroids_ = _mm512_load_si512(bytes);
  }
  HWY_INLINE static __m512i Order() {
    static constexpr CodeOrder kOrder({0, 1, 2, 3});
    return kOrder.Load();
  }
  HWY_INLINE void LookUp(__m512i codes, __m512i (&w)[kSteps]) const {
    w[0] = _mm512_permutexvar_epi8(codes, centroids_);
  }

 private:
  __m512i centroids_;
};

template <uint32_t kBits>
class Table<kBf16, kBits> {
 public:
  static constexpr uint32_t kSteps = 2;
  explicit Table(const uint16_t* words)
      : low_(_mm512_loadu_si512(words)), high_(_mm512_loadu_si512(words + 32)) {}
  // Words of inputs (0, 2) and (1, 3): a look-up takes the low byte of each, and a shift by a byte
  // brings the other two.
  HWY_INLINE static __m512i Order() {
    static constexpr CodeOrder kOrder({0, 2, 1, 3});
    return kOrder.Load();
  }
  HWY_INLINE void LookUp(__m512i codes, __m512i (&w)[kSteps]) const {
    w[0] = Look(codes);
    w[1] = Look(_mm512_srli_epi16(codes, 8));
  }

 private:
  HWY_INLINE __m512i Look(__m512i codes) const {
    if constexpr (kBits <= 5) return _mm512_permutexvar_epi16(codes, low_);
    return _mm512_permutex2var_epi16(low_, codes, high_);
  }
  __m512i low_;
  __m512i high_;
};

/// Sums of kRows rows. Not an array: over a loop that also writes, GCC 12 keeps arrays in memory.
template <ComputeType kType, uint32_t kRows>
struct Sums {
  typename StepSums<kType>::Type first;
  Sums<kType, kRows - 1> rest;

  /// Rows that are not there repeat the last one.
  HWY_INLINE void Begin(const PackedRows& a, uint32_t row, uint32_t last) {
    BeginSums(a, std::min(row, last), first);
    rest.Begin(a, row + 1, last);
  }
  HWY_INLINE void Add(const uint32_t* a, __m512i w) {
    first = AddSharedStep(first, a, w);
    rest.Add(a + kLeadingStride, w);
  }
  HWY_INLINE void Finish(const LeadingProduct& p, uint32_t row, __m512 units) const {
    if (row == p.rows) return;
    float* c = p.c + row * p.c_stride;
    const __m512 old = _mm512_loadu_ps(p.start != nullptr ? p.start : c);
    _mm512_storeu_ps(c, FinishSums(p.a, row, first, units, old));
    rest.Finish(p, row + 1, units);
  }
};
template <ComputeType kType>
struct Sums<kType, 0> {
  HWY_INLINE void Begin(const PackedRows& /*a*/, uint32_t /*row*/, uint32_t /*last*/) {}
  HWY_INLINE void Add(const uint32_t* /*a*/, __m512i /*w*/) {}
  HWY_INLINE void Finish(const LeadingProduct& /*p*/, uint32_t /*row*/, __m512 /*units*/) const {}
};

template <ComputeType kType, uint32_t kBits, uint32_t kRows, bool kKeep = false>
void LookUp(const PackedLookUp& l, const LeadingProduct& p) {
  using Centroids = Table<kType, kBits>;
  constexpr uint32_t kSteps = Centroids::kSteps;
  constexpr uint64_t kChunkGroups = kLeadingSteps / kSteps;
  const uint8_t* planes[kBits];
  for (uint32_t i = 0; i < kBits; ++i) planes[i] = l.shard.planes[i] + l.first / 8;
  const Centroids table(l.table);
  const __m512i order = Centroids::Order();
  const uint64_t groups = l.ins / kGroup;
  uint32_t* overlay = l.overlay;
  uint32_t* out = l.panel.data;
  const uint32_t* a = p.a.data;
  Sums<kType, kRows> sums;
  sums.Begin(p.a, 0, p.rows - 1);
  alignas(64) uint8_t codes[64 * kBlockGroups];
  for (uint64_t first = 0; first < groups; first += kBlockGroups) {
    PlaneBlock<kBits>(planes, 8 * first, 8 * (groups - first), order, codes);
    FetchPlanes<kBits>(planes, 8 * first);
    if (kRows > 0 && first % kChunkGroups == 0) a = p.a.data + first / kChunkGroups * kLeadingChunk;
    const uint64_t count = std::min(kBlockGroups, groups - first);
    for (uint64_t g = 0; g < count; ++g) {
      __m512i w[kSteps];
      table.LookUp(_mm512_load_si512(codes + 64 * g), w);
#pragma GCC unroll 2
      for (uint32_t s = 0; s < kSteps; ++s) {
        w[s] = _mm512_xor_si512(w[s], _mm512_load_si512(overlay));
        _mm512_store_si512(overlay, _mm512_setzero_si512());
        if constexpr (kKeep) _mm512_store_si512(out, w[s]);
        sums.Add(a, w[s]);
        overlay += kLanes;
        if constexpr (kKeep) out += kLanes;
        ++a;
      }
    }
  }
  if constexpr (kRows > 0) sums.Finish(p, 0, _mm512_loadu_ps(l.panel.units));
}

template <ComputeType kType, uint32_t kBits>
void LookUpRows(const PackedLookUp& l, const LeadingProduct& p) {
  assert(p.rows <= kFusedRows);
  // FusedRows leaves some rows to others only if it takes none, 12 or 16.
  if (l.panel.data != nullptr) {
    if (p.rows == 0) return LookUp<kType, kBits, 0, true>(l, p);
    return p.rows <= 12 ? LookUp<kType, kBits, 12, true>(l, p)
                        : LookUp<kType, kBits, 16, true>(l, p);
  }
  if (p.rows <= 2) return LookUp<kType, kBits, 2>(l, p);
  if (p.rows <= 4) return LookUp<kType, kBits, 4>(l, p);
  if (p.rows <= 8) return LookUp<kType, kBits, 8>(l, p);
  if (p.rows <= 12) return LookUp<kType, kBits, 12>(l, p);
  LookUp<kType, kBits, 16>(l, p);
}

template <ComputeType kType>
void LookUpBits(const PackedLookUp& l, const LeadingProduct& p) {
  WithBits(l.shard.bits, [&](auto bits) { LookUpRows<kType, bits>(l, p); });
}

}  // namespace

void LookUpPackedFast(ComputeType type, const PackedLookUp& look_up,
                      const LeadingProduct& leading) {
  if (type == kBf16) return LookUpBits<kBf16>(look_up, leading);
  LookUpBits<kInt8>(look_up, leading);
}

}  // namespace sti
HWY_POP_ATTRIBUTES
#endif
