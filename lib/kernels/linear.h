// Linear maps whose weights are still encoded: the work that a layer mostly consists of.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/backend.h"
#include "kernels/decode_shard.h"

namespace sti {

/// x W^T: rows of `in` times one of a shard's matrices.
struct LinearTerm {
  const ShardView* shard = nullptr;
  ShardMatrix matrix;
  const float* in = nullptr;  ///< [rows, matrix.ins]
  size_t in_stride = 0;
};

/// What becomes of the sums.
enum class Epilogue : uint8_t {
  kNone,
  kActivate,   ///< the activation of the model
  kTranspose,  ///< out is [outs, rows]
};

/// out = bias + sum of terms, which all have `outs` outputs.
struct LinearGroup {
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

  /// Makes room; Run stays within it.
  virtual void Reserve(const LinearLimits& limits) = 0;
  virtual void Run(uint32_t rows, std::span<const LinearGroup> groups) = 0;
  [[nodiscard]] virtual uint64_t bytes() const = 0;
  [[nodiscard]] virtual std::string name() const = 0;

  /// Whether Run times its decoding, which costs a little. For backends that can.
  virtual void MeterDecoding(bool on) { (void)on; }
  /// What decoding has taken since the last call, in microseconds, mean over the threads.
  virtual double TakeDecodeUs() { return 0; }
};

/// out[r] = bias for each of `rows` rows.
void FillRows(const float* bias, uint32_t width, uint32_t rows, float* out, size_t out_stride);

/// out[column * out_stride + row] = tile[row * tile_stride + column].
void TransposeTile(const float* tile, size_t tile_stride, uint32_t rows, uint32_t width, float* out,
                   size_t out_stride);

/// Where a task's outputs [out, out + width) of a group gather: in place, or in the task's own
/// memory until they are transposed.
struct OutputTile {
  const LinearGroup& group;
  uint32_t rows = 0;
  uint32_t out = 0;
  uint32_t width = 0;
  float* data = nullptr;  ///< [rows, width]; what it holds before the first term is not read
  size_t stride = 0;

  /// `spare` has room for rows * width floats.
  static OutputTile Of(const LinearGroup& group, uint32_t rows, uint32_t out, uint32_t width,
                       float* spare);
  /// What the sums of a term start from: the bias for the first, null for others, which go on.
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

/// The backends, each in its own file. Packed: bf16 or int8.
std::unique_ptr<Linear> MakeNativeLinear(ThreadPool& pool, Activation activation);
std::unique_ptr<Linear> MakePackedLinear(ComputeType type, ThreadPool& pool, Activation activation);
Result<std::unique_ptr<Linear>> MakeBlasLinear(ThreadPool& pool, Activation activation);

}  // namespace sti
