// Decoding goes by groups of 64 codes, one 64-bit word a plane. A word is the mask of the codes
// that have that plane's bit, so 64 one-byte codes take one masked add a plane. AVX-512 then looks
// the centroids up in registers: 16 a table, two tables a permute, two permutes for 64. Shorter
// registers take them byte by byte (byte_tables-inl.h), the portable targets from memory.
#include "kernels/decode.h"

#include <cstring>

#include "base/half.h"
#include "kernels/cpu/with_bits.h"

// clang-format off
#include "kernels/cpu/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fp32/decode.cpp"  // NOLINT: Highway's way
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/fp32/byte_tables-inl.h"
#if HWY_ARCH_ARM_A64
#include "kernels/cpu/plane_codes_neon.h"
#endif
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sti {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr uint32_t kGroup = 64;  // codes
constexpr uint32_t kRow = 16;
constexpr uint32_t kGroupRows = kGroup / kRow;
#if HWY_TARGET == HWY_NEON
constexpr uint32_t kBlockGroups = 8;
constexpr uint32_t kBlockRows = kBlockGroups * kGroupRows;
#endif

// The scales of a group. kRows: one for each of its rows.
template <Scaling kScaling, class D>
HWY_INLINE hn::Vec<D> Scale(D d, hn::Vec<D> weights, const float* scales, size_t at) {
  if constexpr (kScaling == Scaling::kRows) return hn::Mul(weights, hn::Set(d, scales[at / kRow]));
  if constexpr (kScaling == Scaling::kColumns) {
    return hn::Mul(weights, hn::LoadU(d, scales + at % kRow));
  }
  return weights;
}

#if HWY_TARGET <= HWY_AVX3

// Looks up 64 codes. Template on the bits, so that the tables stay in registers over the loop.
template <uint32_t kBits, Scaling kScaling>
class Decoder {
 public:
  explicit Decoder(const float* centroids) {
    alignas(64) float table[64] = {};
    std::memcpy(table, centroids, sizeof(float) << kBits);
    for (int i = 0; i < 4; ++i) tables_[i] = _mm512_load_ps(table + 16 * i);
  }

  // words[p] holds the group's bits of plane p.
  HWY_INLINE void Decode(const uint64_t (&words)[kBits], const float* scales, float* out) const {
    __m512i codes = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (uint32_t p = 0; p < kBits; ++p) {
      const __m512i bit = _mm512_set1_epi8(static_cast<char>(1U << (kBits - 1 - p)));
      codes = _mm512_mask_add_epi8(codes, _cvtu64_mask64(words[p]), codes, bit);
    }
    // Byte j of dword i becomes code 16 j + i: a 4 x 16 transposition in two shuffles. A shift then
    // puts any 16 codes in place, and lookups ignore the bits above their index.
    codes = _mm512_permutexvar_epi32(order_, codes);
    codes = _mm512_shuffle_epi8(codes, bytes_);
    Store<0>(Look<2>(codes, codes), scales, out);
    Store<16>(Look<1>(_mm512_srli_epi32(codes, 8), codes), scales, out);
    Store<32>(Look<0>(_mm512_srli_epi32(codes, 16), codes), scales, out);
    Store<48>(Look<-1>(_mm512_srli_epi32(codes, 24), codes), scales, out);
  }

 private:
  template <size_t kAt>
  HWY_INLINE void Store(__m512 weights, const float* scales, float* out) const {
    const hn::CappedTag<float, kRow> d;
    const auto scaled = Scale<kScaling>(d, hn::Vec<decltype(d)>{weights}, scales, kAt);
    hn::StoreU(scaled, d, out + kAt);
  }

  // `index`: the code in the low bits. For six bits the top one, bit 5 of byte 2 - kByte of
  // `codes`, is moved to the sign to choose between the halves.
  template <int kByte>
  HWY_INLINE __m512 Look(__m512i index, __m512i codes) const {
    if constexpr (kBits <= 4) return _mm512_permutexvar_ps(index, tables_[0]);
    const __m512 low = _mm512_permutex2var_ps(tables_[0], index, tables_[1]);
    if constexpr (kBits <= 5) return low;
    const __m512 high = _mm512_permutex2var_ps(tables_[2], index, tables_[3]);
    const __mmask16 top = _mm512_movepi32_mask(_mm512_slli_epi32(codes, 10 + 8 * kByte));
    return _mm512_mask_blend_ps(top, low, high);
  }

  __m512 tables_[4];
  __m512i order_ = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  __m512i bytes_ =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
};

#elif !STI_BYTE_TABLES

// Plain C++: Highway's emulation of masks of bytes is slower than this by ten times and more.
template <uint32_t kBits, Scaling kScaling>
class Decoder {
 public:
  explicit Decoder(const float* centroids) : centroids_(centroids) {}

  void Decode(const uint64_t (&words)[kBits], const float* scales, float* out) const {
    for (uint32_t i = 0; i < kGroup; i += 8) {
      uint64_t codes = 0;
      for (uint32_t p = 0; p < kBits; ++p) codes = codes << 1 | Spread(words[p] >> i & 0xFF);
      for (uint32_t j = 0; j < 8; ++j) {
        const float weight = centroids_[codes >> 8 * j & 0xFF];
        out[i + j] = Scaled(weight, scales, i + j);
      }
    }
  }

 private:
  // Bit j of a byte as the lowest bit of byte j.
  static uint64_t Spread(uint64_t byte) {
    const uint64_t own_bits = (byte * 0x0101010101010101) & 0x8040201008040201;
    return ((own_bits + 0x7F7F7F7F7F7F7F7F) & 0x8080808080808080) >> 7;
  }

  static float Scaled(float weight, const float* scales, uint32_t at) {
    if constexpr (kScaling == Scaling::kRows) return weight * scales[at / kRow];
    if constexpr (kScaling == Scaling::kColumns) return weight * scales[at % kRow];
    return weight;
  }

  const float* centroids_;
};

#else

template <uint32_t kBits, Scaling kScaling>
class Decoder {
 public:
  explicit Decoder(const float* centroids) : tables_(centroids) {}

  HWY_INLINE void Decode(const uint64_t (&words)[kBits], const float* scales, float* out) const {
    using Tables = ByteTables<kBits>;
    const typename Tables::DFloat d;
    constexpr uint32_t kLanes = Tables::kPart / Tables::kVectors;
#pragma GCC unroll 4
    for (uint32_t part = 0; part < kGroup / Tables::kPart; ++part) {
      typename Tables::VFloat weights[Tables::kVectors];
      tables_.Look(tables_.Codes(words, part), weights);
#pragma GCC unroll 4
      for (uint32_t v = 0; v < Tables::kVectors; ++v) {
        const uint32_t at = part * Tables::kPart + v * kLanes;
        hn::StoreU(Scale<kScaling>(d, weights[v], scales, at), d, out + at);
      }
    }
  }

#if HWY_TARGET == HWY_NEON
  /// As Decode, of kBlockRows rows from byte `at` of the planes on: codes first, by sixteen bytes
  /// of a plane, then floats, while all tables are in registers.
  void DecodeBlock(const std::array<const uint8_t*, 6>& planes, uint64_t at, const float* scales,
                   float* out) const {
    alignas(16) uint8_t codes[kBlockRows * kRow];
    for (uint32_t byte = 0; byte < sizeof(codes) / 8; byte += 16) {
      uint8x16_t v[8];
#pragma GCC unroll 8
      for (uint32_t p = 0; p < kBits; ++p) v[kBits - 1 - p] = vld1q_u8(planes[p] + at + byte);
      TransposeBits<kBits>(v);
      InterleaveBytes(v);
#pragma GCC unroll 8
      for (uint32_t i = 0; i < 8; ++i) vst1q_u8(codes + 8 * byte + 16 * i, v[i]);
    }
    using Tables = ByteTables<kBits>;
    // Not an array, which GCC 12 would keep in memory.
    const typename Tables::Table table0 = tables_.LoadTable(0);
    const typename Tables::Table table1 = tables_.LoadTable(1);
    const typename Tables::Table table2 = tables_.LoadTable(2);
    const typename Tables::Table table3 = tables_.LoadTable(3);
    const typename Tables::DFloat d;
    for (uint32_t row = 0; row < kBlockRows; ++row) {
      const typename Tables::V8 code(vld1q_u8(codes + kRow * row));
      const typename Tables::V8 bytes[4] = {
          Tables::LookIn(table0, code), Tables::LookIn(table1, code), Tables::LookIn(table2, code),
          Tables::LookIn(table3, code)};
      typename Tables::VFloat weights[Tables::kVectors];
      Tables::Join(bytes, weights);
#pragma GCC unroll 4
      for (uint32_t v = 0; v < Tables::kVectors; ++v) {
        weights[v] = Scale<kScaling>(d, weights[v], scales, 4 * v);
      }
#pragma GCC unroll 4
      for (uint32_t v = 0; v < Tables::kVectors; ++v) hn::StoreU(weights[v], d, out + 4 * v);
      out += kRow;
      if constexpr (kScaling == Scaling::kRows) ++scales;
    }
  }
#endif

 private:
  ByteTables<kBits> tables_;
};

#endif

// 64 bits of a plane from bit `shift` of `bytes` on; reads a ninth byte only if it needs it.
HWY_INLINE uint64_t Word(const uint8_t* bytes, uint32_t shift) {
  const auto word = LoadLittle<uint64_t>(bytes);
  if (shift == 0) return word;
  return word >> shift | static_cast<uint64_t>(bytes[8]) << (64 - shift);
}

template <uint32_t kBits, Scaling kScaling>
void DecodeScaled(const CodedWeights& weights, uint64_t first, uint64_t count, float* out) {
  constexpr size_t kStep = kScaling == Scaling::kRows ? kGroupRows : 0;
  const Decoder<kBits, kScaling> decoder(weights.centroids);
  const auto& planes = weights.planes;
  const float* scales = weights.scales;
  const uint64_t byte = first / 8;
  const auto shift = static_cast<uint32_t>(first % 8);
  const uint64_t groups = count / kGroup;
  uint64_t g = 0;
#if HWY_TARGET == HWY_NEON
  if (shift == 0) {
    for (; g + kBlockGroups <= groups; g += kBlockGroups) {
      decoder.DecodeBlock(planes, byte + 8 * g, scales, out + kGroup * g);
      scales += kBlockGroups * kStep;
    }
  }
#endif
  uint64_t words[kBits];
  for (; g < groups; ++g) {
#pragma GCC unroll 8
    for (uint32_t p = 0; p < kBits; ++p) words[p] = Word(planes[p] + byte + 8 * g, shift);
    decoder.Decode(words, scales, out + kGroup * g);
    scales += kStep;
  }
  const uint64_t rest = count % kGroup;
  if (rest == 0) return;
  for (uint32_t p = 0; p < kBits; ++p) {
    uint8_t tail[9] = {};
    std::memcpy(tail, planes[p] + byte + 8 * groups, (shift + rest + 7) / 8);
    words[p] = Word(tail, shift);
  }
  // Rows that are not there have no scales either.
  float last_scales[kGroupRows] = {};
  if constexpr (kScaling == Scaling::kRows) {
    std::memcpy(last_scales, scales, rest / kRow * sizeof(float));
    scales = last_scales;
  }
  decoder.Decode(words, scales, out + kGroup * groups);
}

template <uint32_t kBits>
void DecodeBits(const CodedWeights& weights, uint64_t first, uint64_t count, float* out) {
  switch (weights.scaling) {
    case Scaling::kNone:
      return DecodeScaled<kBits, Scaling::kNone>(weights, first, count, out);
    case Scaling::kRows:
      return DecodeScaled<kBits, Scaling::kRows>(weights, first, count, out);
    case Scaling::kColumns:
      return DecodeScaled<kBits, Scaling::kColumns>(weights, first, count, out);
  }
}

template <class DHalf>
void WidenHalves(DHalf d16, const uint8_t* source, uint64_t count, float* out) {
  const hn::Rebind<float, DHalf> d;
  const hn::Rebind<uint16_t, DHalf> du16;
  constexpr bool kIsHalf = hwy::IsSame<hn::TFromD<DHalf>, hwy::float16_t>();
  // Without the instruction, Highway 1.0.3 widens infinite halves to 65536; on NEON, too, which has
  // it.
  constexpr bool kVector = !kIsHalf || HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON;
  const uint64_t whole = kVector ? count - count % hn::Lanes(d) : 0;
  for (uint64_t i = 0; i < whole; i += hn::Lanes(d)) {
#if HWY_TARGET == HWY_NEON
    if constexpr (kIsHalf) {
      const float16x4_t halves = vreinterpret_f16_u8(vld1_u8(source + 2 * i));
      vst1q_f32(out + i, vcvt_f32_f16(halves));
      continue;
    }
#endif
    HWY_ALIGN uint16_t halves[HWY_MAX_BYTES / sizeof(float)];
    std::memcpy(halves, source + 2 * i, hn::Lanes(d) * sizeof(uint16_t));
    const auto bits = hn::Load(du16, halves);
    hn::StoreU(hn::PromoteTo(d, hn::BitCast(d16, bits)), d, out + i);
  }
  for (uint64_t i = whole; i < count; ++i) {
    out[i] = kIsHalf ? LoadF16(source + 2 * i) : LoadBF16(source + 2 * i);
  }
}

}  // namespace

void DecodePlanesOn(const CodedWeights& weights, uint64_t first, uint64_t count, float* out) {
  WithBits(weights.bits, [&](auto bits) HWY_ATTR { DecodeBits<bits>(weights, first, count, out); });
}

void WidenWeightsOn(const uint8_t* source, DataType type, uint64_t count, float* out) {
  const hn::ScalableTag<float> d;
  switch (type) {
    case DataType::kF32:
      std::memcpy(out, source, count * sizeof(float));
      return;
    case DataType::kF16:
      return WidenHalves(hn::Rebind<hwy::float16_t, decltype(d)>(), source, count, out);
    case DataType::kBF16:
      return WidenHalves(hn::Rebind<hwy::bfloat16_t, decltype(d)>(), source, count, out);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sti
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cassert>

#include "kernels/cpu/dispatch.h"
#include "kernels/fp32/outliers.h"
#include "network/tensors.h"
#include "types/bits.h"

namespace sti {

STI_EXPORT(DecodePlanesOn);
STI_EXPORT(WidenWeightsOn);

void DecodePlanes(const CodedWeights& weights, uint64_t first, uint64_t count, float* out) {
  assert(weights.bits >= 2 && weights.bits <= 6);
  assert(count == 0 || weights.scaling == Scaling::kNone ||
         (weights.scales != nullptr && count % 16 == 0));
  STI_DISPATCH(DecodePlanesOn)(weights, first, count, out);
}

void WidenWeights(const uint8_t* source, DataType type, uint64_t count, float* out) {
  STI_DISPATCH(WidenWeightsOn)(source, type, count, out);
}

namespace {

constexpr uint64_t kOverrun = 64;  // weights that decoding may write past its end

void PatchOutliers(const ShardView& shard, uint64_t first, uint64_t count, float* out) {
  ForEachOutlier(shard, first, count, [out](uint64_t at, float weight) { out[at] = weight; });
}

// For panels narrower than vectors are made for. They are few: the last of a matrix at most.
void ScaleNarrow(const float* scales, bool by_output, uint32_t ins, uint32_t width, float* out) {
  for (uint32_t in = 0; in < ins; ++in) {
    for (uint32_t o = 0; o < width; ++o) out[in * width + o] *= scales[by_output ? o : in];
  }
}

}  // namespace

void DecodePanel(const ShardView& shard, const PanelStretch& stretch, float* out) {
  const uint32_t width = stretch.width();
  const uint64_t first = stretch.first();
  const uint64_t count = uint64_t{stretch.ins} * width;
  if (count == 0 || shard.bits == kFullBits || shard.scales == nullptr) {
    DecodeWeights(shard, first, count, out);
    return;
  }
  const bool by_output = stretch.matrix.scaled_by_output;
  const float* scales =
      shard.scales + stretch.matrix.scales + (by_output ? stretch.out : stretch.in);
  if (width == kPanelWidth) {
    const Scaling scaling = by_output ? Scaling::kColumns : Scaling::kRows;
    DecodePlanes({shard.planes, shard.bits, shard.centroids, scaling, scales}, first, count, out);
  } else {
    DecodePlanes({shard.planes, shard.bits, shard.centroids}, first, count, out);
    ScaleNarrow(scales, by_output, stretch.ins, width, out);
  }
  PatchOutliers(shard, first, count, out);
}

std::vector<float> DecodeShard(const ShardView& shard, const ModelShape& shape) {
  std::vector<float> weights(ShardWeights(shape) + kOverrun);
  for (const ShardMatrix& matrix : ShardMatrices(shape)) {
    for (uint32_t panel = 0; panel < matrix.outs; panel += kPanelWidth) {
      const PanelStretch stretch{matrix, panel, 0, matrix.ins};
      // Weights that are written past the panel's end are written again by the next panel.
      DecodePanel(shard, stretch, &weights[stretch.first()]);
    }
  }
  weights.resize(ShardWeights(shape));
  return weights;
}

void DecodeWeights(const ShardView& shard, uint64_t first, uint64_t count, float* out) {
  if (count == 0) return;
  if (shard.bits == kFullBits) {
    WidenWeights(shard.full + first * BytesOf(shard.type), shard.type, count, out);
    return;
  }
  DecodePlanes({shard.planes, shard.bits, shard.centroids}, first, count, out);
  PatchOutliers(shard, first, count, out);
}

}  // namespace sti
#endif  // HWY_ONCE
