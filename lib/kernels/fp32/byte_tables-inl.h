// Decoding without gathers, for instruction sets whose registers are too short to hold centroids as
// floats: the four bytes of a float come from four tables of bytes, sixteen entries a table, and
// are put together afterwards. One shuffle of bytes does 16 or 32 such look-ups.
//
// Included once for each of Highway's targets, by decode.cpp alone; where it defines
// STI_BYTE_TABLES as false, there is no class.

#if defined(STI_BYTE_TABLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STI_BYTE_TABLES_INL_H_
#undef STI_BYTE_TABLES_INL_H_
#else
#define STI_BYTE_TABLES_INL_H_
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"

// The emulated vectors of the portable targets gain nothing, AVX-512 has better.
#undef STI_BYTE_TABLES
#define STI_BYTE_TABLES \
  (HWY_TARGET > HWY_AVX3 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR)
#if STI_BYTE_TABLES

HWY_BEFORE_NAMESPACE();
namespace sti {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Turns planes into codes of kBits bits, and codes into the floats that they stand for, 16 or 32
/// codes at a time ("a part").
template <uint32_t kBits>
class ByteTables {
 public:
  using D8 = hn::CappedTag<uint8_t, 32>;
  using V8 = hn::Vec<D8>;
  using DFloat = hn::Repartition<float, D8>;
  using VFloat = hn::Vec<DFloat>;
  static constexpr uint32_t kPart = hn::MaxLanes(D8());  ///< codes of a part
  static constexpr uint32_t kVectors = 4;                ///< vectors of floats that a part becomes

  explicit ByteTables(const float* centroids) {
    alignas(64) float all[kEntries * kTables] = {};
    std::memcpy(all, centroids, sizeof(float) << kBits);
    const hn::CappedTag<uint8_t, kEntries> d;
    for (uint32_t t = 0; t < kTables; ++t) {
      hn::Vec<decltype(d)> b0, b1, b2, b3;
      const auto* bytes = reinterpret_cast<const uint8_t*>(all + kEntries * t);
      hn::LoadInterleaved4(d, bytes, b0, b1, b2, b3);
      hn::Store(b0, d, tables_[0][t]);
      hn::Store(b1, d, tables_[1][t]);
      hn::Store(b2, d, tables_[2][t]);
      hn::Store(b3, d, tables_[3][t]);
    }
    // Where a vector has two blocks of 16 bytes, each takes every other four codes, so that what
    // the blocks' own interleaving leaves in one vector are eight consecutive floats.
    for (uint32_t i = 0; i < kPart; ++i) {
      const uint32_t block = i / 16;
      const uint32_t in_block = i % 16;
      const uint32_t code = kPart == 32 ? in_block / 4 * 8 + block * 4 + in_block % 4 : in_block;
      byte_of_[i] = static_cast<uint8_t>(code / 8);
      bit_of_[i] = static_cast<uint8_t>(1U << code % 8);
    }
  }

  /// Returns codes [kPart * part, kPart * (part + 1)) of a group whose planes have the bits
  /// `words`.
  HWY_INLINE V8 Codes(const uint64_t (&words)[kBits], uint32_t part) const {
    const D8 d;
    const hn::Repartition<uint64_t, D8> d64;
    const V8 first = hn::Set(d, static_cast<uint8_t>(part * kPart / 8));
    const V8 order = hn::Add(hn::Load(d, byte_of_), first);
    const V8 bit = hn::Load(d, bit_of_);
    V8 code = hn::Zero(d);
#pragma GCC unroll 8
    for (uint32_t p = 0; p < kBits; ++p) {
      const V8 bytes = hn::TableLookupBytes(hn::BitCast(d, hn::Set(d64, words[p])), order);
      code = Append(code, hn::VecFromMask(d, hn::TestBit(bytes, bit)));
    }
    return code;
  }

  /// Looks up the floats of a part, in order.
  HWY_INLINE void Look(V8 codes, VFloat (&out)[kVectors]) const {
    V8 bytes[4];
    LookBytes(codes, bytes);
    Join(bytes, out);
  }

  /// Joins the bytes of a part's floats to floats.
  static HWY_INLINE void Join(const V8 (&bytes)[4], VFloat (&out)[kVectors]) {
    const D8 d;
    const hn::Repartition<uint16_t, D8> d16;
    const DFloat d_float;
    const auto low01 = hn::BitCast(d16, hn::InterleaveLower(d, bytes[0], bytes[1]));
    const auto low23 = hn::BitCast(d16, hn::InterleaveLower(d, bytes[2], bytes[3]));
    const auto high01 = hn::BitCast(d16, hn::InterleaveUpper(d, bytes[0], bytes[1]));
    const auto high23 = hn::BitCast(d16, hn::InterleaveUpper(d, bytes[2], bytes[3]));
    out[0] = hn::BitCast(d_float, hn::InterleaveLower(d16, low01, low23));
    out[1] = hn::BitCast(d_float, hn::InterleaveUpper(d16, low01, low23));
    out[2] = hn::BitCast(d_float, hn::InterleaveLower(d16, high01, high23));
    out[3] = hn::BitCast(d_float, hn::InterleaveUpper(d16, high01, high23));
  }

 private:
  static constexpr uint32_t kEntries = 16;  // entries of a table
  static constexpr uint32_t kTables = kBits <= 4 ? 1 : 1U << (kBits - 4);

#if HWY_TARGET == HWY_NEON
  // NEON appends a bit in one instruction, and has look-ups in tables of 32 and 64 bytes.
  static HWY_INLINE V8 Append(V8 code, V8 mask) { return V8(vsliq_n_u8(mask.raw, code.raw, 1)); }

  HWY_INLINE void LookBytes(V8 codes, V8 (&bytes)[4]) const {
#pragma GCC unroll 4
    for (uint32_t b = 0; b < 4; ++b) bytes[b] = LookIn(LoadTable(b), codes);
  }

 public:
  using Table = std::conditional_t<kTables == 1, uint8x16_t,
                                   std::conditional_t<kTables == 2, uint8x16x2_t, uint8x16x4_t>>;
  /// Returns the table of the floats' byte `b`, for loops that keep all four in registers.
  HWY_INLINE Table LoadTable(uint32_t b) const {
    const uint8_t* table = tables_[b][0];
    if constexpr (kTables == 1) return vld1q_u8(table);
    if constexpr (kTables == 2) return vld1q_u8_x2(table);
    if constexpr (kTables == 4) return vld1q_u8_x4(table);
  }
  static HWY_INLINE V8 LookIn(const Table& table, V8 codes) {
    if constexpr (kTables == 1) return V8(vqtbl1q_u8(table, codes.raw));
    if constexpr (kTables == 2) return V8(vqtbl2q_u8(table, codes.raw));
    if constexpr (kTables == 4) return V8(vqtbl4q_u8(table, codes.raw));
  }

 private:
#else
  static HWY_INLINE V8 Append(V8 code, V8 mask) { return hn::Sub(hn::Add(code, code), mask); }

  // A look-up whose index has its top bit set gives zero, so each table gets an index that has it
  // unless the code is one of the table's: (code ^ 16 t) + 112 is below 128 just then.
  HWY_INLINE void LookBytes(V8 codes, V8 (&bytes)[4]) const {
    const D8 d;
    if constexpr (kTables == 1) {
#pragma GCC unroll 4
      for (uint32_t b = 0; b < 4; ++b) {
        bytes[b] = hn::TableLookupBytes(hn::LoadDup128(d, tables_[b][0]), codes);
      }
      return;
    }
#pragma GCC unroll 4
    for (uint32_t t = 0; t < kTables; ++t) {
      const V8 own = hn::Xor(codes, hn::Set(d, static_cast<uint8_t>(kEntries * t)));
      const V8 index = hn::Add(own, hn::Set(d, 112));
#pragma GCC unroll 4
      for (uint32_t b = 0; b < 4; ++b) {
        const V8 found = hn::TableLookupBytesOr0(hn::LoadDup128(d, tables_[b][t]), index);
        bytes[b] = t == 0 ? found : hn::Or(bytes[b], found);
      }
    }
  }
#endif

  alignas(64) uint8_t tables_[4][kTables][kEntries];
  alignas(64) uint8_t byte_of_[kPart];
  alignas(64) uint8_t bit_of_[kPart];
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sti
HWY_AFTER_NAMESPACE();
#endif  // STI_BYTE_TABLES
#endif  // per target
