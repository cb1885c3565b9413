// Packed rows times packed panels: a dot product's instruction adds one dword of a row, which it
// takes out of four, times those of four outputs to their sums.
#include "kernels/lowp/targets.h"

// clang-format off
#include "kernels/cpu/highway_targets.h"
#include "hwy/base.h"
// clang-format on

#if STI_PACKED_NEON
#include <algorithm>

#include "kernels/lowp/neon.h"

HWY_PUSH_ATTRIBUTES(STI_NEON_ATTRIBUTES)
namespace sti {
namespace {

constexpr uint32_t kLanes = 4;
constexpr uint32_t kMaxRows = 8;   // of a block two vectors wide
constexpr uint32_t kWideRows = 4;  // of one four vectors wide, which reads short inputs once

/// Four sums, of floats or of integers.
template <ComputeType kType>
struct StepSums {
  using Type = float32x4_t;
};
template <>
struct StepSums<ComputeType::kInt8> {
  using Type = int32x4_t;
};

template <int kLane>
HWY_INLINE float32x4_t AddStep(float32x4_t sums, uint32x4_t w, uint32x4_t x) {
  return vbfdotq_laneq_f32(sums, vreinterpretq_bf16_u32(w), vreinterpretq_bf16_u32(x), kLane);
}
template <int kLane>
HWY_INLINE int32x4_t AddStep(int32x4_t sums, uint32x4_t w, uint32x4_t x) {
  return vdotq_laneq_s32(sums, vreinterpretq_s8_u32(w), vreinterpretq_s8_u32(x), kLane);
}

/// c plus what the sums of a row stand for.
HWY_INLINE float32x4_t FinishSums(const PackedRows& /*a*/, uint32_t /*row*/, float32x4_t sums,
                                  float32x4_t units, float32x4_t c) {
  return vfmaq_f32(c, sums, units);
}
HWY_INLINE float32x4_t FinishSums(const PackedRows& a, uint32_t row, int32x4_t sums,
                                  float32x4_t units, float32x4_t c) {
  return vfmaq_n_f32(c, vmulq_f32(vcvtq_f32_s32(sums), units), a.scales[row]);
}

/// The first `count` of them. Rare, and so not part of every block.
template <typename Sums>
[[gnu::noinline]] void FinishPart(const PackedRows& a, uint32_t row, Sums sums, float32x4_t units,
                                  const float* from, uint32_t count, float* c) {
  float part[kLanes] = {};
  std::copy_n(from, count, part);
  vst1q_f32(part, FinishSums(a, row, sums, units, vld1q_f32(part)));
  std::copy_n(part, count, c);
}

/// Rows [row, row + kRows) of outputs [column, column + 4 kVectors).
template <ComputeType kType, uint32_t kRows, uint32_t kVectors>
class Block {
 public:
  Block(const PackedProduct& p, uint32_t row, uint32_t column)
      : p_(p), row_(row), column_(column) {}

  void Run() {
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (uint32_t v = 0; v < kVectors; ++v) sums_[r][v] = Sums{};
    }
    const uint32_t* a = p_.a.data + row_ * p_.a.stride;
    const uint32_t* w = p_.panels[column_ / kPanelWidth] + column_ % kPanelWidth;
    uint32x4_t x[kRows];
    uint32_t step = 0;
    for (; step + kLanes <= p_.steps; step += kLanes) {
#pragma GCC unroll 8
      for (uint32_t r = 0; r < kRows; ++r) x[r] = vld1q_u32(a + r * p_.a.stride);
      Add<0>(x, w);
      Add<1>(x, w + kPanelWidth);
      Add<2>(x, w + 2 * kPanelWidth);
      Add<3>(x, w + 3 * kPanelWidth);
      a += kLanes;
      w += kLanes * kPanelWidth;
    }
    for (; step < p_.steps; ++step) {
#pragma GCC unroll 8
      for (uint32_t r = 0; r < kRows; ++r) x[r] = vld1q_dup_u32(a + r * p_.a.stride);
      Add<0>(x, w);
      ++a;
      w += kPanelWidth;
    }
    Finish();
  }

 private:
  using Sums = typename StepSums<kType>::Type;

  template <int kLane>
  HWY_INLINE void Add(const uint32x4_t (&x)[kRows], const uint32_t* w) {
    uint32x4_t weights[kVectors];
#pragma GCC unroll 4
    for (uint32_t v = 0; v < kVectors; ++v) weights[v] = vld1q_u32(w + v * kLanes);
#pragma GCC unroll 8
    for (uint32_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (uint32_t v = 0; v < kVectors; ++v) {
        sums_[r][v] = AddStep<kLane>(sums_[r][v], weights[v], x[r]);
      }
    }
  }

  HWY_INLINE void Finish() const {
#pragma GCC unroll 4
    for (uint32_t v = 0; v < kVectors; ++v) {
      const uint32_t first = column_ + v * kLanes;
      if (first >= p_.width) return;
      const uint32_t count = std::min(kLanes, p_.width - first);
      const float32x4_t units = vld1q_f32(p_.units + first);
#pragma GCC unroll 8
      for (uint32_t r = 0; r < kRows; ++r) {
        float* c = p_.c + (row_ + r) * p_.c_stride + first;
        const float* from = p_.start != nullptr ? p_.start + first : c;
        if (count == kLanes) {
          vst1q_f32(c, FinishSums(p_.a, row_ + r, sums_[r][v], units, vld1q_f32(from)));
        } else {
          FinishPart(p_.a, row_ + r, sums_[r][v], units, from, count, c);
        }
      }
    }
  }

  const PackedProduct& p_;
  uint32_t row_;
  uint32_t column_;
  Sums sums_[kRows][kVectors];
};

template <ComputeType kType, uint32_t kRows>
void Columns(const PackedProduct& p, uint32_t row) {
  constexpr uint32_t kVectors = kRows <= kWideRows ? 4 : 2;
  for (uint32_t column = 0; column < p.width; column += kVectors * kLanes) {
    Block<kType, kRows, kVectors>(p, row, column).Run();
  }
}

template <ComputeType kType, uint32_t kRows = kMaxRows>
void ColumnsOf(uint32_t rows, const PackedProduct& p, uint32_t row) {
  if constexpr (kRows > 0) {
    if (rows == kRows) return Columns<kType, kRows>(p, row);
    ColumnsOf<kType, kRows - 1>(rows, p, row);
  }
}

// Blocks of nearly equal height.
template <ComputeType kType>
void Rows(const PackedProduct& p) {
  const uint32_t blocks = (p.rows + kMaxRows - 1) / kMaxRows;
  uint32_t row = 0;
  for (uint32_t block = 0; block < blocks; ++block) {
    const uint32_t rows = (p.rows - row) / (blocks - block);
    ColumnsOf<kType>(rows, p, row);
    row += rows;
  }
}

}  // namespace

void MultiplyPackedFast(ComputeType type, const PackedProduct& p) {
  if (type == ComputeType::kBf16) return Rows<ComputeType::kBf16>(p);
  Rows<ComputeType::kInt8>(p);
}

}  // namespace sti
HWY_POP_ATTRIBUTES
#endif
