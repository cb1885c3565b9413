// Outliers in packed form, four at a time: one in 170 weights, each on its own they took as many
// instructions as half the look-ups.
#include "kernels/lowp/targets.h"

// clang-format off
#include "kernels/cpu/highway_targets.h"
#include "hwy/base.h"
// clang-format on

#if STI_PACKED_NEON
#include <algorithm>

#include "base/little_endian.h"
#include "kernels/fp32/outliers.h"
#include "kernels/lowp/neon.h"

HWY_PUSH_ATTRIBUTES(STI_NEON_ATTRIBUTES)
namespace sti {
namespace {

constexpr ComputeType kInt8 = ComputeType::kInt8;
constexpr uint32_t kLanes = 4;

/// Four outliers: where they are in the panel, what codes they have, and all bits set for those
/// that have one.
struct Codes {
  uint32_t places[kLanes];
  uint32_t values[kLanes];
  uint32x4_t reached;
};

template <ComputeType kType>
HWY_INLINE uint32x4_t Round(float32x4_t code, uint32x4_t& reached) {
  if constexpr (kType == kInt8) {
    reached = vcaleq_f32(code, vdupq_n_f32(127));
    return vreinterpretq_u32_s32(vcvtnq_s32_f32(code));
  } else {
    reached = vcaltq_f32(code, vdupq_n_f32(3e38f));
    return vmovl_u16(vreinterpret_u16_bf16(vcvt_bf16_f32(code)));
  }
}

template <ComputeType kType>
HWY_INLINE void CodesOf(const OutlierPatch& p, uint32x4_t at, float32x4_t weights, Codes& codes) {
  constexpr int kShift = kType == kInt8 ? 2 : 1;  // log2 of a step's inputs
  const uint32x4_t in = vshrq_n_u32(at, 4);
  const uint32x4_t out = vandq_u32(at, vdupq_n_u32(kPanelWidth - 1));
  float32x4_t code = vmulq_n_f32(weights, p.factor);
  if (p.scales != nullptr) {
    uint32_t indices[kLanes];
    vst1q_u32(indices, p.by_output ? out : in);
    float scales[kLanes];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < kLanes; ++i) scales[i] = p.scales[indices[i]];
    code = vdivq_f32(code, vld1q_f32(scales));
  }
  vst1q_u32(codes.values, Round<kType>(code, codes.reached));
  const uint32x4_t row = vaddq_u32(vshlq_n_u32(vshrq_n_u32(in, kShift), 4), out);
  const uint32x4_t within = vandq_u32(in, vdupq_n_u32((1U << kShift) - 1));
  vst1q_u32(codes.places, vaddq_u32(vshlq_n_u32(row, kShift), within));
}

template <ComputeType kType>
HWY_INLINE void Put(uint32_t* panel, uint32_t place, uint32_t value) {
  if constexpr (kType == kInt8) {
    reinterpret_cast<uint8_t*>(panel)[place] = static_cast<uint8_t>(value);
  } else {
    reinterpret_cast<uint16_t*>(panel)[place] = static_cast<uint16_t>(value);
  }
}

// Puts the first `count`, the first of which is number `first`. Adds those without a code to `far`.
template <ComputeType kType>
HWY_INLINE uint8_t* PutFour(const OutlierPatch& p, uint32x4_t at, float32x4_t weights,
                            uint32_t first, uint32_t count, uint8_t* far) {
  Codes codes;
  CodesOf<kType>(p, at, weights, codes);
  if (count == kLanes && vminvq_u32(codes.reached) != 0) {
#pragma GCC unroll 4
    for (uint32_t i = 0; i < kLanes; ++i) {
      Put<kType>(p.overlay, codes.places[i], codes.values[i]);
    }
    return far;
  }
  uint32_t reached[kLanes];
  vst1q_u32(reached, codes.reached);
  for (uint32_t i = 0; i < count; ++i) {
    if (reached[i] == 0) {
      *far++ = static_cast<uint8_t>(first + i);
    } else {
      Put<kType>(p.overlay, codes.places[i], codes.values[i]);
    }
  }
  return far;
}

template <ComputeType kType>
uint32_t PutChunk(const OutlierPatch& p, int64_t offset, const uint8_t* lows, const float* weights,
                  uint32_t count, uint8_t* far) {
  const uint32x4_t base = vdupq_n_u32(static_cast<uint32_t>(offset));
  uint8_t* end = far;
  uint32_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const uint16x4_t low = vreinterpret_u16_u8(vld1_u8(lows + 2 * size_t{i}));
    end = PutFour<kType>(p, vaddw_u16(base, low), vld1q_f32(weights + i), i, kLanes, end);
  }
  if (i < count) {
    // Those past the end are the first weight of the panel; they are not put.
    uint32_t at[kLanes] = {};
    float rest[kLanes] = {};
    for (uint32_t k = 0; i + k < count; ++k) {
      at[k] = static_cast<uint32_t>(offset + LoadLittle<uint16_t>(lows + 2 * size_t{i + k}));
      rest[k] = weights[i + k];
    }
    end = PutFour<kType>(p, vld1q_u32(at), vld1q_f32(rest), i, count - i, end);
  }
  return static_cast<uint32_t>(end - far);
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
