// Linear maps whose weights are still encoded: the work that a layer mostly consists of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "kernels/backend.h"
#include "kernels/shard_view.h"
#include "kernels/thread_pool.h"

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
  uint32_t outs = 0;            ///< of the widest matrix
};

/// Computes groups of equal `outs` at once. One thread at a time; the pool outlives it.
class Linear {
 public:
  /// Fails (machine) if the backend's library cannot be opened.
  static Result<std::unique_ptr<Linear>> Create(Backend backend, ThreadPool& pool,
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

/// The backends, each in its own file.
std::unique_ptr<Linear> MakeNativeLinear(ThreadPool& pool, Activation activation);
Result<std::unique_ptr<Linear>> MakeBlasLinear(ThreadPool& pool, Activation activation);

}  // namespace sti
