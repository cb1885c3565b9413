// What the backends of Linear share: the tile of outputs that a task gathers, and its epilogue.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/elementwise.h"
#include "kernels/linear.h"

namespace sti {

/// Where a task's outputs [out, out + width) of a group gather: in place, or in the task's own
/// memory until they are transposed.
struct OutputTile {
  const LinearSum& group;
  uint32_t rows = 0;
  uint32_t out = 0;
  uint32_t width = 0;
  float* data = nullptr;  ///< [rows, width]; what it holds before the first term is not read
  size_t stride = 0;

  /// `spare` has room for rows * width floats.
  static OutputTile Of(const LinearSum& group, uint32_t rows, uint32_t out, uint32_t width,
                       float* spare);
  /// Returns what the sums of a term start from: the bias for the first, null for others, which go
  /// on.
  [[nodiscard]] const float* StartOf(const LinearTerm& term) const {
    return &term == group.terms.data() ? group.bias + out : nullptr;
  }
  /// Does what the epilogue says.
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
  /// Mean of the meters, which begin again.
  static double Take(std::span<DecodeMeter> meters);
};

/// Return what Reserve of each backend takes, in bytes.
uint64_t NativeLinearRoom(const LinearLimits& limits, uint32_t threads);
uint64_t PackedLinearRoom(ComputeType type, const LinearLimits& limits, uint32_t threads);
uint64_t BlasLinearRoom(const LinearLimits& limits);

/// The backends, each in a file of its own; the packed one computes in bf16 or int8.
std::unique_ptr<Linear> MakeNativeLinear(ThreadPool& pool, Activation activation);
std::unique_ptr<Linear> MakePackedLinear(ComputeType type, ThreadPool& pool, Activation activation);
Result<std::unique_ptr<Linear>> MakeBlasLinear(ThreadPool& pool, Activation activation);

}  // namespace sti
