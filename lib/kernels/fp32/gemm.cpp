// A register-blocked product. A block of rows keeps its sums in registers while the inputs go by:
// per input, one load a vector of columns and one broadcast a row. AVX-512 takes 12 rows by two
// panels (24 sums), AVX2 6 rows by one panel, others 3 rows by one panel. NEON takes 8 rows by half
// a panel: it multiplies by one lane of a vector, so four inputs of a row are loaded at once.
#include "kernels/gemm.h"

#include <algorithm>
#include <cstring>

// clang-format off
#include "kernels/cpu/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fp32/gemm.cpp"  // NOLINT: Highway's way
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sti {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr uint32_t kPanel = 16;
using D = hn::CappedTag<float, kPanel>;
using V = hn::Vec<D>;
constexpr D kTag;
constexpr uint32_t kLanes = hn::MaxLanes(kTag);
constexpr uint32_t kPanelVectors = kPanel / kLanes;
#if HWY_MAX_BYTES >= 64
constexpr uint32_t kMaxRows = 12;
constexpr uint32_t kMaxWidth = 2 * kPanel;
#elif HWY_MAX_BYTES >= 32
constexpr uint32_t kMaxRows = 6;
constexpr uint32_t kMaxWidth = kPanel;
#elif HWY_TARGET == HWY_NEON
constexpr uint32_t kMaxRows = 8;
constexpr uint32_t kMaxWidth = kPanel / 2;
#else
constexpr uint32_t kMaxRows = 3;
constexpr uint32_t kMaxWidth = kPanel;
#endif

// The vector at column `column` of a row of `width` numbers; lanes past the width are zero.
HWY_INLINE V LoadColumns(const float* row, uint32_t column, uint32_t width) {
  if (column + kLanes <= width) return hn::LoadU(kTag, row + column);
  HWY_ALIGN float lanes[kLanes] = {};
  if (column < width) std::memcpy(lanes, row + column, (width - column) * sizeof(float));
  return hn::Load(kTag, lanes);
}

HWY_INLINE void StoreColumns(V v, float* row, uint32_t column, uint32_t width) {
  if (column + kLanes <= width) {
    hn::StoreU(v, kTag, row + column);
  } else if (column < width) {
    HWY_ALIGN float lanes[kLanes];
    hn::Store(v, kTag, lanes);
    std::memcpy(row + column, lanes, (width - column) * sizeof(float));
  }
}

template <uint32_t kRows, uint32_t kVectors>
HWY_INLINE void LoadSums(const PanelProduct& p, const float* c, V (&sums)[kRows][kVectors]) {
#pragma GCC unroll 16
  for (uint32_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (uint32_t v = 0; v < kVectors; ++v) {
      const float* from = p.start != nullptr ? p.start : c + r * p.c_stride;
      sums[r][v] = LoadColumns(from, v * kLanes, p.width);
    }
  }
}

template <uint32_t kRows, uint32_t kVectors>
HWY_INLINE void StoreSums(const PanelProduct& p, const V (&sums)[kRows][kVectors], float* c) {
#pragma GCC unroll 16
  for (uint32_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (uint32_t v = 0; v < kVectors; ++v) {
      StoreColumns(sums[r][v], c + r * p.c_stride, v * kLanes, p.width);
    }
  }
}

#if HWY_TARGET == HWY_NEON

// One input of each row, in this lane, times a row of the panel.
template <int kLane, uint32_t kRows, uint32_t kVectors>
HWY_INLINE void AddInput(const float32x4_t (&x)[kRows], const float* b,
                         V (&sums)[kRows][kVectors]) {
  float32x4_t weights[kVectors];
#pragma GCC unroll 16
  for (uint32_t v = 0; v < kVectors; ++v) weights[v] = vld1q_f32(b + v * kLanes);
#pragma GCC unroll 16
  for (uint32_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (uint32_t v = 0; v < kVectors; ++v) {
      sums[r][v] = V(vfmaq_laneq_f32(sums[r][v].raw, weights[v], x[r], kLane));
    }
  }
}

// kRows rows from `a` times columns of a panel.
template <uint32_t kRows, uint32_t kVectors>
void Block(const PanelProduct& p, const float* a, float* c) {
  V sums[kRows][kVectors];
  LoadSums<kRows, kVectors>(p, c, sums);
  const float* b = p.panels[0].data;
  const size_t step = p.panels[0].stride;
  float32x4_t x[kRows];
  uint32_t k = 0;
  for (; k + kLanes <= p.ins; k += kLanes) {
#pragma GCC unroll 16
    for (uint32_t r = 0; r < kRows; ++r) x[r] = vld1q_f32(a + r * p.a_stride);
    AddInput<0>(x, b, sums);
    AddInput<1>(x, b + step, sums);
    AddInput<2>(x, b + 2 * step, sums);
    AddInput<3>(x, b + 3 * step, sums);
    a += kLanes;
    b += kLanes * step;
  }
  for (; k < p.ins; ++k) {
#pragma GCC unroll 16
    for (uint32_t r = 0; r < kRows; ++r) x[r] = vld1q_dup_f32(a + r * p.a_stride);
    AddInput<0>(x, b, sums);
    ++a;
    b += step;
  }
  StoreSums(p, sums, c);
}

#else

// kRows rows from `a` times one or two panels. Rows are addressed from every third one, since x86
// adds one or two strides to an address for free and has too few registers for twelve pointers.
template <uint32_t kRows, uint32_t kVectors>
void Block(const PanelProduct& p, const float* a, float* c) {
  V sums[kRows][kVectors];
  LoadSums<kRows, kVectors>(p, c, sums);
  constexpr uint32_t kBases = (kRows + 2) / 3;
  const float* base[kBases];
  const size_t stride = p.a_stride;
#pragma GCC unroll 8
  for (uint32_t i = 0; i < kBases; ++i) base[i] = a + 3 * i * stride;
  const float* b0 = p.panels[0].data;
  const float* b1 = p.panels[1].data;
  const size_t step0 = p.panels[0].stride;
  const size_t step1 = p.panels[1].stride;
  for (uint32_t k = 0; k < p.ins; ++k) {
    V b[kVectors];
#pragma GCC unroll 16
    for (uint32_t v = 0; v < kVectors; ++v) {
      b[v] = v < kPanelVectors ? hn::LoadU(kTag, b0 + v * kLanes)
                               : hn::LoadU(kTag, b1 + (v - kPanelVectors) * kLanes);
    }
#pragma GCC unroll 16
    for (uint32_t r = 0; r < kRows; ++r) {
      const V x = hn::Set(kTag, base[r / 3][(r % 3) * stride]);
#pragma GCC unroll 16
      for (uint32_t v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(x, b[v], sums[r][v]);
    }
#pragma GCC unroll 8
    for (uint32_t i = 0; i < kBases; ++i) ++base[i];
    b0 += step0;
    b1 += step1;
  }
  StoreSums(p, sums, c);
}

#endif

template <uint32_t kVectors, uint32_t kRows>
void BlockOf(uint32_t rows, const PanelProduct& p, const float* a, float* c) {
  if constexpr (kRows > 0) {
    if (rows == kRows) return Block<kRows, kVectors>(p, a, c);
    BlockOf<kVectors, kRows - 1>(rows, p, a, c);
  }
}

// Blocks of nearly equal height: 16 rows as 8 + 8 rather than 12 + 4.
template <uint32_t kVectors, uint32_t kMost = kMaxRows>
void Rows(const PanelProduct& p) {
  const uint32_t blocks = (p.rows + kMost - 1) / kMost;
  uint32_t row = 0;
  for (uint32_t block = 0; block < blocks; ++block) {
    const uint32_t rows = (p.rows - row) / (blocks - block);
    BlockOf<kVectors, kMost>(rows, p, p.a + row * p.a_stride, p.c + row * p.c_stride);
    row += rows;
  }
}

}  // namespace

#if HWY_TARGET == HWY_NEON

void MultiplyPanelsOn(const PanelProduct& product) {
  // Few rows have too few sums to keep the CPU busy by halves.
  constexpr uint32_t kFew = 4;
  const bool few = product.rows <= kFew;
  const uint32_t width = few ? kPanel : kMaxWidth;
  for (uint32_t column = 0; column < product.width; column += width) {
    PanelProduct part = product;
    part.panels[0] = product.panels[column / kPanel];
    part.panels[0].data += column % kPanel;
    part.c += column;
    if (part.start != nullptr) part.start += column;
    part.width = product.width - column < width ? product.width - column : width;
    few ? Rows<kPanelVectors, kFew>(part) : Rows<kMaxWidth / kLanes>(part);
  }
}

#else

void MultiplyPanelsOn(const PanelProduct& product) {
  if (product.width <= kPanel) return Rows<kPanelVectors>(product);
  if constexpr (kMaxWidth > kPanel) {
    Rows<2 * kPanelVectors>(product);
  } else {
    PanelProduct half = product;
    half.panels[1] = half.panels[0];
    half.width = kPanel;
    Rows<kPanelVectors>(half);
    half.panels[0] = half.panels[1] = product.panels[1];
    half.c = product.c + kPanel;
    if (product.start != nullptr) half.start = product.start + kPanel;
    half.width = product.width - kPanel;
    Rows<kPanelVectors>(half);
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace sti
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/cpu/dispatch.h"

namespace sti {

STI_EXPORT(MultiplyPanelsOn);

void MultiplyPanels(const PanelProduct& product) { STI_DISPATCH(MultiplyPanelsOn)(product); }

}  // namespace sti
#endif  // HWY_ONCE
