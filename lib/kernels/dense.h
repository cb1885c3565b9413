// Products of matrices that lie in memory as plain rows, for what is not run on a small device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"

namespace sti {

/// Floats that must be readable past the end of a right-hand matrix.
inline constexpr size_t kDenseSlack = 16;

/// c [rows, outs] = a [rows, ins] times b, plus c if `accumulate`. b is [ins, outs], or [outs, ins]
/// if `transposed`; all row-major. c is neither a nor b.
struct DenseProduct {
  const float* a = nullptr;
  size_t a_stride = 0;
  const float* b = nullptr;
  size_t b_stride = 0;
  bool transposed = false;
  float* c = nullptr;
  size_t c_stride = 0;
  uint32_t rows = 0;
  uint32_t ins = 0;
  uint32_t outs = 0;
  bool accumulate = false;
};

/// Computes the product. Each number of c is one chain of fused multiply-adds over ins in ascending
/// order, as MultiplyPanels makes it, whatever the threads. For many rows: b is copied once.
void MultiplyDense(const DenseProduct& product, ThreadPool& pool);

/// Multiplies on the calling thread and without a copy: for few rows. Not for `transposed`. Up to
/// kDenseSlack floats past the end of b are read.
void MultiplySmall(const DenseProduct& product);

}  // namespace sti
