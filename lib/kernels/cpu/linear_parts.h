// The backends of Linear share the tile of outputs that a task gathers with its epilogue, and the
// meter of decoding.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/elementwise.h"
#include "kernels/linear.h"

namespace sti {

/// Some rows of all that a product has.
struct RowRange {
  uint32_t first = 0;
  uint32_t count = 0;
};

/// Holds the outputs [out, out + width) of a sum that one task computes for some rows: in place, or
/// in the task's own memory until they are transposed.
struct OutputTile {
  const LinearSum& group;
  RowRange rows;
  uint32_t out = 0;
  uint32_t width = 0;
  float* data = nullptr;  ///< [rows, width]; what it holds before the first term is not read
  size_t stride = 0;

  /// Returns the tile of outputs [out, out + width); `spare` has room for width floats of each row.
  static OutputTile Of(const LinearSum& group, RowRange rows, uint32_t out, uint32_t width,
                       float* spare);
  /// Returns what a term is added to: the bias for the first term, null for the others, which go on
  /// from the tile.
  [[nodiscard]] const float* StartOf(const LinearTerm& term) const {
    return &term == group.terms.data() ? group.bias + out : nullptr;
  }
  /// Applies the epilogue of the sum.
  void Finish(Activation activation) const;
};

/// Adds up what workers spend on decoding; on a cache line of its own.
struct alignas(64) DecodeMeter {
  bool on = false;
  double time_us = 0;

  template <typename F>
  void Time(const F& decode) {
    if (!on) return decode();
    const auto begin = std::chrono::steady_clock::now();
    decode();
    const auto end = std::chrono::steady_clock::now();
    time_us += std::chrono::duration<double, std::micro>(end - begin).count();
  }
  /// Returns the mean of the meters in microseconds, and sets them back to 0.
  static double Take(std::span<DecodeMeter> meters);
};

/// Return the bytes that Reserve of each backend takes.
uint64_t NativeLinearRoom(const LinearLimits& limits, uint32_t threads);
uint64_t PackedLinearRoom(ComputeType type, const LinearLimits& limits, uint32_t threads);
uint64_t BlasLinearRoom(const LinearLimits& limits);

/// Make the backends, each in a file of its own; the packed one computes in bf16 or int8.
std::unique_ptr<Linear> MakeNativeLinear(ThreadPool& pool, Activation activation);
std::unique_ptr<Linear> MakePackedLinear(ComputeType type, ThreadPool& pool, Activation activation);
Result<std::unique_ptr<Linear>> MakeBlasLinear(ThreadPool& pool, Activation activation);

}  // namespace sti
