// The matrix product of everything in a layer: rows of activations times one or two panels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sti {

/// Rows of activations: [rows, ins], row r at data + r * stride.
struct RowsRef {
  const float* data = nullptr;
  size_t stride = 0;
  uint32_t rows = 0;
  uint32_t ins = 0;
};

/// Columns of a right-hand matrix: [ins, width <= 16], row k at data + k * stride. Sixteen floats
/// from each row's start are readable; those past the width may hold anything.
struct PanelRef {
  const float* data = nullptr;
  size_t stride = 0;
};

/// c [rows, width] = a [rows, ins] times the panels [ins, width], plus `start` in each row, or plus
/// c itself where `start` is null.
struct PanelProduct {
  const float* a = nullptr;
  size_t a_stride = 0;
  uint32_t rows = 0;
  uint32_t ins = 0;
  PanelRef panels[2];  ///< columns 0..15 and 16..31; the second is unused if width <= 16
  float* c = nullptr;
  size_t c_stride = 0;
  uint32_t width = 0;            ///< 1..32
  const float* start = nullptr;  ///< [width]
};

/// Zeros. Pass them as PanelProduct::start to overwrite `c` instead of adding to it.
inline constexpr float kFromZero[32] = {};

/// Computes the product. Each number of c is one chain of fused multiply-adds over ins in ascending
/// order, so its bits depend neither on the other rows and columns of the call nor on how ins is
/// cut into calls that go on from each other. Thread-safe.
void MultiplyPanels(const PanelProduct& product);

}  // namespace sti
