// Packing for NEON's dot products: activations, and weights of full fidelity.
#include "kernels/lowp/targets.h"

// clang-format off
#include "kernels/cpu/highway_targets.h"
#include "hwy/base.h"
// clang-format on

#if STI_PACKED_NEON
#include <bit>
#include <cassert>
#include <cstring>

#include "base/half.h"
#include "kernels/lowp/neon.h"

HWY_PUSH_ATTRIBUTES(STI_NEON_ATTRIBUTES)
namespace sti {
namespace {

constexpr ComputeType kBf16 = ComputeType::kBf16;
constexpr ComputeType kInt8 = ComputeType::kInt8;
constexpr size_t kLanes = 4;  // floats of a vector

template <bool kHasScales>
HWY_INLINE float32x4_t Load(const float* in, const float* scales, size_t k) {
  const float32x4_t x = vld1q_f32(in + k);
  if constexpr (!kHasScales) return x;
  return vmulq_f32(x, vld1q_f32(scales + k));
}
template <bool kHasScales>
HWY_INLINE float LoadOne(const float* in, const float* scales, size_t k) {
  return kHasScales ? in[k] * scales[k] : in[k];
}

HWY_INLINE uint16x8_t Halves(float32x4_t low, float32x4_t high) {
  return vreinterpretq_u16_bf16(vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(low), high));
}

// The low bytes of whole numbers that fit.
HWY_INLINE int8x16_t Bytes(const int32x4_t (&x)[4]) {
  const int16x8_t low = vuzp1q_s16(vreinterpretq_s16_s32(x[0]), vreinterpretq_s16_s32(x[1]));
  const int16x8_t high = vuzp1q_s16(vreinterpretq_s16_s32(x[2]), vreinterpretq_s16_s32(x[3]));
  return vuzp1q_s8(vreinterpretq_s8_s16(low), vreinterpretq_s8_s16(high));
}

template <bool kHasScales>
void PackHalves(const float* in, const float* scales, size_t ins, uint32_t* out) {
  auto* halves = reinterpret_cast<uint16_t*>(out);
  size_t k = 0;
  for (; k + 2 * kLanes <= ins; k += 2 * kLanes) {
    vst1q_u16(halves + k,
              Halves(Load<kHasScales>(in, scales, k), Load<kHasScales>(in, scales, k + kLanes)));
  }
  for (; k < ins; ++k) halves[k] = FloatToBFloat(LoadOne<kHasScales>(in, scales, k));
  if (ins % 2 != 0) halves[ins] = 0;
}

// The largest magnitude's bits, larger than those of infinity where there is a NaN.
template <bool kHasScales>
uint32_t LargestBits(const float* in, const float* scales, size_t ins) {
  constexpr uint32_t kMagnitude = 0x7FFFFFFF;
  uint32x4_t most[4] = {};
  size_t k = 0;
  for (; k + 4 * kLanes <= ins; k += 4 * kLanes) {
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) {
      const float32x4_t x = vabsq_f32(Load<kHasScales>(in, scales, k + i * kLanes));
      most[i] = vmaxq_u32(most[i], vreinterpretq_u32_f32(x));
    }
  }
  uint32_t largest =
      vmaxvq_u32(vmaxq_u32(vmaxq_u32(most[0], most[1]), vmaxq_u32(most[2], most[3])));
  for (; k < ins; ++k) {
    const auto bits = std::bit_cast<uint32_t>(LoadOne<kHasScales>(in, scales, k)) & kMagnitude;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

template <bool kHasScales>
void PackBytes(const float* in, const float* scales, size_t ins, float factor, uint32_t* out) {
  auto* bytes = reinterpret_cast<int8_t*>(out);
  size_t k = 0;
  for (; k + 4 * kLanes <= ins; k += 4 * kLanes) {
    int32x4_t codes[4];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) {
      codes[i] = vcvtnq_s32_f32(vmulq_n_f32(Load<kHasScales>(in, scales, k + i * kLanes), factor));
    }
    vst1q_s8(bytes + k, Bytes(codes));
  }
  for (; k < ins; ++k) {
    bytes[k] = static_cast<int8_t>(vcvtns_s32_f32(LoadOne<kHasScales>(in, scales, k) * factor));
  }
  for (; k % 4 != 0; ++k) bytes[k] = 0;
}

template <bool kHasScales>
void PackRowsOf(ComputeType type, const RowsRef& in, const float* scales, const PackedRows& out) {
  for (uint32_t row = 0; row < in.rows; ++row) {
    const float* from = in.data + row * in.stride;
    uint32_t* to = out.data + row * out.stride;
    if (type == kBf16) {
      PackHalves<kHasScales>(from, scales, in.ins, to);
      continue;
    }
    const ByteScale byte(std::bit_cast<float>(LargestBits<kHasScales>(from, scales, in.ins)));
    if (byte.usable) {
      PackBytes<kHasScales>(from, scales, in.ins, byte.factor, to);
    } else {
      std::memset(to, 0, PackedSteps(kInt8, in.ins) * sizeof(uint32_t));
    }
    out.scales[row] = byte.scale;
    out.starts[row] = 0;
  }
}

void PackWeightHalves(const float* weights, uint32_t ins, const float* factors, uint32_t* out) {
  for (size_t o = 0; o < kPanelWidth; o += kLanes) {
    const float32x4_t factor = vld1q_f32(factors + o);
    for (size_t k = 0; k < ins; k += 2) {
      const float* from = weights + k * kPanelWidth + o;
      const float32x4_t low = vmulq_f32(vld1q_f32(from), factor);
      const float32x4_t high = vmulq_f32(vld1q_f32(from + kPanelWidth), factor);
      const uint16x8_t words = Halves(low, high);
      const uint16x8_t pairs = vzip1q_u16(words, vextq_u16(words, words, 4));
      vst1q_u32(out + k / 2 * kPanelWidth + o, vreinterpretq_u32_u16(pairs));
    }
  }
}

bool PackWeightBytes(const float* weights, uint32_t ins, const float* factors, uint32_t* out) {
  const float32x4_t most = vdupq_n_f32(127);
  uint32x4_t within = vdupq_n_u32(~0U);
  for (size_t o = 0; o < kPanelWidth; o += kLanes) {
    const float32x4_t factor = vld1q_f32(factors + o);
    for (size_t k = 0; k < ins; k += 4) {
      uint32x4_t codes[4];
#pragma GCC unroll 4
      for (size_t i = 0; i < 4; ++i) {
        const float* from = weights + (k + i) * kPanelWidth + o;
        const float32x4_t x = vmulq_f32(vld1q_f32(from), factor);
        within = vandq_u32(within, vcaleq_f32(x, most));
        const float32x4_t near = vmaxq_f32(vminq_f32(x, most), vnegq_f32(most));
        codes[i] = vreinterpretq_u32_s32(vcvtnq_s32_f32(near));
      }
      const uint32x4_t low = vsliq_n_u32(codes[0], codes[1], 8);
      const uint32x4_t dwords = vsliq_n_u32(vsliq_n_u32(low, codes[2], 16), codes[3], 24);
      vst1q_u32(out + k / 4 * kPanelWidth + o, dwords);
    }
  }
  return vminvq_u32(within) == 0;
}

}  // namespace

void PackRowsFast(ComputeType type, const RowsRef& in, const float* scales, const PackedRows& out) {
  assert(out.chunk == 0 || in.rows == 0);
  scales != nullptr ? PackRowsOf<true>(type, in, scales, out)
                    : PackRowsOf<false>(type, in, scales, out);
}

bool PackWeightsFast(ComputeType type, const float* weights, uint32_t ins, const float* factors,
                     uint32_t* out) {
  if (type == kInt8) return PackWeightBytes(weights, ins, factors, out);
  PackWeightHalves(weights, ins, factors, out);
  return false;
}

void MeasureOutputsFast(const float* weights, uint32_t ins, float* squares, float* largest) {
  for (size_t o = 0; o < kPanelWidth; o += kLanes) {
    float32x4_t sum = vdupq_n_f32(0);
    float32x4_t most = vdupq_n_f32(0);
    for (size_t k = 0; k < ins; ++k) {
      const float32x4_t w = vld1q_f32(weights + k * kPanelWidth + o);
      sum = vfmaq_f32(sum, w, w);
      most = vmaxnmq_f32(most, vabsq_f32(w));
    }
    vst1q_f32(squares + o, sum);
    vst1q_f32(largest + o, most);
  }
}

}  // namespace sti
HWY_POP_ATTRIBUTES
#endif
