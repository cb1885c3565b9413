// Linear maps whose weights are still encoded: the work that a layer mostly consists of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/backend.h"
#include "shard/view.h"
#include "shard/weight_order.h"

namespace sti {

/// x W^T: rows of `in` times one of a shard's matrices.
struct LinearTerm {
  const ShardView* shard = nullptr;
  ShardMatrix matrix;
  const float* in = nullptr;  ///< [rows, matrix.ins]
  size_t in_stride = 0;
};

/// The last step that sums go through.
enum class Epilogue : uint8_t {
  kNone,
  kActivate,   ///< the activation of the model
  kTranspose,  ///< out is [outs, rows]
};

/// out = bias + sum of terms, which all have `outs` outputs.
struct LinearSum {
  std::span<const LinearTerm> terms;
  const float* bias = nullptr;  ///< [outs]
  uint32_t outs = 0;
  float* out = nullptr;  ///< [rows, outs], or transposed
  size_t out_stride = 0;
  Epilogue epilogue = Epilogue::kNone;
};

/// Sizes that scratch memory follows from.
struct LinearLimits {
  uint32_t rows = 0;
  uint32_t matrix_weights = 0;  ///< of the largest matrix of a shard
  uint32_t outs = 0;            ///< of the matrix with most outputs
  uint32_t ins = 0;             ///< of the matrix with most inputs
  uint32_t summed_ins = 0;      ///< likewise, of those whose hidden dimension is their outputs
  uint32_t terms = 0;  ///< most of a group; where there are several, each has at most summed_ins
};

/// Computes groups of equal `outs` at once. One thread at a time; the pool outlives it.
class Linear {
 public:
  /// Fails (machine) if the backend's library cannot be opened, or if the backend does not compute
  /// with this type here.
  static Result<std::unique_ptr<Linear>> Create(const Arithmetic& arithmetic, ThreadPool& pool,
                                                Activation activation);
  virtual ~Linear() = default;
  Linear() = default;
  Linear(const Linear&) = delete;
  Linear& operator=(const Linear&) = delete;

  /// Returns the bytes that Reserve takes for these limits on `threads` threads. It depends on its
  /// arguments alone, so that a plan for another machine is the same everywhere.
  static uint64_t RoomFor(const Arithmetic& arithmetic, const LinearLimits& limits,
                          uint32_t threads);

  /// Makes room; Run stays within it.
  virtual void Reserve(const LinearLimits& limits) = 0;
  virtual void Run(uint32_t rows, std::span<const LinearSum> groups) = 0;
  /// Bytes reserved.
  [[nodiscard]] virtual uint64_t bytes() const = 0;
  [[nodiscard]] virtual Kernel kernel() const = 0;

  /// Whether Run times its decoding, which costs a little. For backends that can.
  virtual void MeterDecoding(bool on) { (void)on; }
  /// Returns what decoding has taken since the last call, in microseconds, mean over the threads.
  virtual double TakeDecodeUs() { return 0; }
};

}  // namespace sti
