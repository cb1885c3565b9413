// A register-blocked product. A block of rows keeps its sums in registers while the inputs go by:
// per input, one load a vector of columns and one broadcast a row. AVX-512 takes 12 rows by two
// panels (24 sums), AVX2 6 rows by one panel, others 3 rows by one panel.
#include "kernels/gemm.h"

#include <algorithm>
#include <cstring>

// clang-format off
#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm.cpp"  // NOLINT: Highway's way
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
#pragma GCC unroll 16
  for (uint32_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (uint32_t v = 0; v < kVectors; ++v) {
      StoreColumns(sums[r][v], c + r * p.c_stride, v * kLanes, p.width);
    }
  }
}

template <uint32_t kVectors, uint32_t kRows = kMaxRows>
void BlockOf(uint32_t rows, const PanelProduct& p, const float* a, float* c) {
  if constexpr (kRows > 0) {
    if (rows == kRows) return Block<kRows, kVectors>(p, a, c);
    BlockOf<kVectors, kRows - 1>(rows, p, a, c);
  }
}

// Blocks of nearly equal height: 16 rows as 8 + 8 rather than 12 + 4.
template <uint32_t kVectors>
void Rows(const PanelProduct& p) {
  const uint32_t blocks = (p.rows + kMaxRows - 1) / kMaxRows;
  uint32_t row = 0;
  for (uint32_t block = 0; block < blocks; ++block) {
    const uint32_t rows = (p.rows - row) / (blocks - block);
    BlockOf<kVectors>(rows, p, p.a + row * p.a_stride, p.c + row * p.c_stride);
    row += rows;
  }
}

}  // namespace

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

}  // namespace HWY_NAMESPACE
}  // namespace sti
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/dispatch.h"

namespace sti {

STI_EXPORT(MultiplyPanelsOn);

void MultiplyPanels(const PanelProduct& product) { STI_DISPATCH(MultiplyPanelsOn)(product); }

}  // namespace sti
#endif  // HWY_ONCE
