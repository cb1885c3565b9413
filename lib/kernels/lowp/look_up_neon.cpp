// Sixteen inputs of sixteen outputs at a time: 32 bytes of each plane become 256 codes, and a
// look-up in bytes makes packed weights of sixteen codes.
#include "kernels/lowp/targets.h"

// clang-format off
#include "kernels/cpu/highway_targets.h"
#include "hwy/base.h"
// clang-format on

#if STI_PACKED_NEON
#include <cstring>
#include <type_traits>

#include "kernels/cpu/plane_codes_neon.h"
#include "kernels/cpu/with_bits.h"
#include "kernels/lowp/neon.h"

HWY_PUSH_ATTRIBUTES(STI_NEON_ATTRIBUTES)
namespace sti {
namespace {

constexpr ComputeType kBf16 = ComputeType::kBf16;
constexpr ComputeType kInt8 = ComputeType::kInt8;
constexpr uint32_t kGroup = 16;                             // inputs
constexpr uint32_t kGroupBytes = kGroup * kPanelWidth / 8;  // of a plane
constexpr uint32_t kHalf = 8;  // outputs, which a byte of a plane holds

/// Bytes of 2^kBits codes.
template <uint32_t kBits>
class ByteTable {
 public:
  ByteTable(const uint16_t* words, uint32_t shift) {
    uint8_t bytes[64] = {};
    for (uint32_t i = 0; i < 1U << kBits; ++i) bytes[i] = static_cast<uint8_t>(words[i] >> shift);
    if constexpr (kBits == 5) {
      table_ = vld1q_u8_x2(bytes);
    } else if constexpr (kBits == 6) {
      table_ = vld1q_u8_x4(bytes);
    } else {
      table_ = vld1q_u8(bytes);
    }
  }
  HWY_INLINE uint8x16_t operator()(uint8x16_t codes) const {
    if constexpr (kBits == 5) {
      return vqtbl2q_u8(table_, codes);
    } else if constexpr (kBits == 6) {
      return vqtbl4q_u8(table_, codes);
    } else {
      return vqtbl1q_u8(table_, codes);
    }
  }

 private:
  using Entries = std::conditional_t<kBits == 6, uint8x16x4_t,
                                     std::conditional_t<kBits == 5, uint8x16x2_t, uint8x16_t>>;
  Entries table_;
};

/// The centroids that replace codes: four codes each of four outputs become dwords of `kSteps`
/// steps.
template <ComputeType kType, uint32_t kBits>
class Centroids;

template <uint32_t kBits>
class Centroids<kInt8, kBits> {
 public:
  static constexpr uint32_t kSteps = 1;
  explicit Centroids(const uint16_t* words) : table_(words, 0) {}
  HWY_INLINE void LookUp(uint8x16_t codes, uint8x16_t (&w)[kSteps]) const { w[0] = table_(codes); }
  /// Loads bytes of a plane by outputs: inputs of the first eight, inputs of the others.
  HWY_INLINE uint8x16x2_t Load(const uint8_t* plane) const { return vld2q_u8(plane); }

 private:
  ByteTable<kBits> table_;
};

template <uint32_t kBits>
class Centroids<kBf16, kBits> {
 public:
  static constexpr uint32_t kSteps = 2;
  explicit Centroids(const uint16_t* words) : low_(words, 0), high_(words, 8) {
    uint8_t orders[2][kGroup];
    for (uint32_t i = 0; i < kGroup; ++i) {
      const uint32_t swapped = i % 4 == 1 || i % 4 == 2 ? i ^ 3 : i;
      for (uint32_t h = 0; h < 2; ++h) orders[h][i] = static_cast<uint8_t>(2 * swapped + h);
    }
    orders_[0] = vld1q_u8(orders[0]);
    orders_[1] = vld1q_u8(orders[1]);
  }
  HWY_INLINE void LookUp(uint8x16_t codes, uint8x16_t (&w)[kSteps]) const {
    const uint8x16_t low = low_(codes);
    const uint8x16_t high = high_(codes);
    w[0] = vtrn1q_u8(low, high);
    w[1] = vtrn2q_u8(low, high);
  }
  /// Loads bytes of a plane by outputs: inputs of the first eight, inputs of the others, of each
  /// four inputs the second and third exchanged. Those of a step, 0 and 1 or 2 and 3, are then
  /// every other byte, and one instruction brings low and high bytes together.
  HWY_INLINE uint8x16x2_t Load(const uint8_t* plane) const {
    const uint8x16x2_t bytes = vld1q_u8_x2(plane);
    return {{vqtbl2q_u8(bytes, orders_[0]), vqtbl2q_u8(bytes, orders_[1])}};
  }

 private:
  ByteTable<kBits> low_;
  ByteTable<kBits> high_;
  uint8x16_t orders_[2];
};

// Rows of dwords become columns.
HWY_INLINE void TransposeDwords(const uint8x16_t* rows, uint8x16_t (&columns)[4]) {
  uint64x2_t pairs[4];
#pragma GCC unroll 2
  for (uint32_t i = 0; i < 2; ++i) {
    const uint32x4_t a = vreinterpretq_u32_u8(rows[2 * i]);
    const uint32x4_t b = vreinterpretq_u32_u8(rows[2 * i + 1]);
    pairs[i] = vreinterpretq_u64_u32(vtrn1q_u32(a, b));
    pairs[2 + i] = vreinterpretq_u64_u32(vtrn2q_u32(a, b));
  }
  columns[0] = vreinterpretq_u8_u64(vtrn1q_u64(pairs[0], pairs[1]));
  columns[1] = vreinterpretq_u8_u64(vtrn1q_u64(pairs[2], pairs[3]));
  columns[2] = vreinterpretq_u8_u64(vtrn2q_u64(pairs[0], pairs[1]));
  columns[3] = vreinterpretq_u8_u64(vtrn2q_u64(pairs[2], pairs[3]));
}

/// Sixteen inputs of a panel, to `out`, [16 inputs' steps, 16].
template <ComputeType kType, uint32_t kBits>
HWY_INLINE void Group(const Centroids<kType, kBits>& centroids,
                      const uint8_t* const (&planes)[kBits], uint64_t at, uint32_t* out) {
  constexpr uint32_t kSteps = Centroids<kType, kBits>::kSteps;
  uint8x16_t halves[2][kHalf];
#pragma GCC unroll 8
  for (uint32_t p = 0; p < kBits; ++p) {
    const uint8x16x2_t bytes = centroids.Load(planes[p] + at);
    halves[0][kBits - 1 - p] = bytes.val[0];
    halves[1][kBits - 1 - p] = bytes.val[1];
  }
#pragma GCC unroll 2
  for (uint32_t h = 0; h < 2; ++h) {
    TransposeBits<kBits>(halves[h]);
#pragma GCC unroll 2
    for (uint32_t o = 0; o < kHalf; o += 4) {
      uint8x16_t codes[4];  // of four inputs and four outputs
      TransposeDwords(halves[h] + o, codes);
#pragma GCC unroll 4
      for (uint32_t i = 0; i < 4; ++i) {
        uint8x16_t w[kSteps];
        centroids.LookUp(codes[i], w);
#pragma GCC unroll 2
        for (uint32_t s = 0; s < kSteps; ++s) {
          vst1q_u32(out + (i * kSteps + s) * kPanelWidth + h * kHalf + o,
                    vreinterpretq_u32_u8(w[s]));
        }
      }
    }
  }
}

template <ComputeType kType, uint32_t kBits>
void LookUp(const PackedLookUp& l) {
  constexpr uint32_t kDwords = kGroup / PackedInputs(kType) * kPanelWidth;
  const Centroids<kType, kBits> centroids(l.table);
  const uint8_t* planes[kBits];
  for (uint32_t i = 0; i < kBits; ++i) planes[i] = l.shard.planes[i] + l.first / 8;
  uint32_t* out = l.panel.data;
  uint64_t at = 0;
  uint32_t left = l.ins;
  for (; left >= kGroup; left -= kGroup) {
    Group(centroids, planes, at, out);
    at += kGroupBytes;
    out += kDwords;
  }
  if (left == 0) return;
  // The rest, in memory that has room for a whole group.
  uint8_t bytes[kBits][kGroupBytes] = {};
  for (uint32_t i = 0; i < kBits; ++i) {
    std::memcpy(bytes[i], planes[i] + at, size_t{left} * kPanelWidth / 8);
    planes[i] = bytes[i];
  }
  uint32_t dwords[kDwords];
  Group(centroids, planes, 0, dwords);
  std::memcpy(out, dwords, size_t{left} / PackedInputs(kType) * kPanelWidth * sizeof(uint32_t));
}

template <ComputeType kType>
void LookUpBits(const PackedLookUp& l) {
  WithBits(l.shard.bits, [&](auto bits) { LookUp<kType, bits>(l); });
}

}  // namespace

void LookUpPackedFast(ComputeType type, const PackedLookUp& look_up,
                      const LeadingProduct& /*leading*/) {
  if (type == kBf16) return LookUpBits<kBf16>(look_up);
  LookUpBits<kInt8>(look_up);
}

}  // namespace sti
HWY_POP_ATTRIBUTES
#endif
