// Linear maps whose weights are still encoded are the work that a layer mostly consists of. A
// backend computes sums of terms, each the product of rows and one matrix of a shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/aligned_buffer.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/backend.h"
#include "shard/view.h"
#include "shard/weight_order.h"

namespace sti {

/// Holds one term x W^T: rows of `in` times one of a shard's matrices.
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

/// Holds one sum, out = bias + terms, which all have `outs` outputs.
struct LinearSum {
  std::span<const LinearTerm> terms;
  const float* bias = nullptr;  ///< [outs]
  uint32_t outs = 0;
  float* out = nullptr;  ///< [rows, outs], or transposed
  size_t out_stride = 0;
  Epilogue epilogue = Epilogue::kNone;
};

/// Holds the sizes that scratch memory follows from.
struct LinearLimits {
  uint32_t rows = 0;            ///< most rows of a call
  uint32_t matrix_weights = 0;  ///< weights of the largest matrix of a shard
  uint32_t outs = 0;            ///< outputs of the matrix that has most
  uint32_t ins = 0;             ///< inputs of the matrix that has most
  uint32_t summed_ins = 0;      ///< most inputs of a matrix whose outputs are the hidden dimension
  uint32_t terms = 0;           ///< most terms of a sum; of several, each has at most summed_ins
};

/// Computes sums of equal `outs` at once. One thread at a time; the pool outlives it.
class Linear {
 public:
  /// Makes the backend of `arithmetic`. kMachine if its library cannot be opened, or if it does not
  /// compute with this type here.
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

  /// Makes room for calls of Run within `limits`, which then allocate nothing.
  virtual void Reserve(const LinearLimits& limits) = 0;
  /// Computes `rows` rows of each of the sums.
  virtual void Run(uint32_t rows, std::span<const LinearSum> groups) = 0;
  /// Gives that room back. Run needs it again.
  virtual void Release() = 0;
  /// Visits that room.
  virtual void VisitMemory(FunctionRef<void(AlignedBuffer&)> visit) = 0;
  /// Returns the bytes reserved.
  [[nodiscard]] virtual uint64_t bytes() const = 0;
  [[nodiscard]] virtual Kernel kernel() const = 0;

  /// Lets Run time its decoding if `on`, which costs a little. Does nothing in some backends.
  virtual void MeterDecoding(bool on) { (void)on; }
  /// Returns what decoding has taken since the last call, in microseconds, mean over the threads.
  virtual double TakeDecodeUs() { return 0; }
};

}  // namespace sti
