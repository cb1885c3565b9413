// The executor of a layer's program by slice: it works on encoded weights, and fuses steps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "kernels/linear.h"
#include "model/batch.h"
#include "model/key_value_cache.h"
#include "model/layer_layout.h"
#include "model/layer_parameters.h"
#include "network/layer_program.h"
#include "shard/view.h"
#include "shard/weight_order.h"
#include "types/model_info.h"

namespace sti {

/// The part of a layer that is computed: its slices, and the parameters that stay resident.
struct LayerPart {
  std::span<const ShardView> slices;        ///< 1 to M of them, mixed bits allowed
  std::span<const uint32_t> slice_indexes;  ///< [slices] which stored slice each is
  const LayerParameters& parameters;
};

/// A call to compute a layer, or its first piece.
struct LayerCall {
  Batch batch;
  LayerPart part;  ///< sums run over its slices in the order given
  OutputRows rows = OutputRows::kAll;
  /// [tokens] where given, is added what each token receives as a key, the weights of attention
  /// summed over slices and over the queries of `rows` (Tabi 4.2).
  float* received = nullptr;
  /// Keys and values of tokens in front of the batch, which is of one sequence; those of the batch
  /// are added. Nothing: the batch has all of its sequences.
  std::optional<CachedLayer> kept = std::nullopt;

  /// Returns the room that the call takes.
  [[nodiscard]] TransformerLimits limits() const {
    const uint32_t tokens = batch.tokens();
    return {tokens, static_cast<uint32_t>(part.slices.size()), kept ? kept->first + tokens : 0};
  }
};

/// Refers to the part of a value that one slice has: [rows, head_dim] of the context.
struct ContextRef {
  const float* data = nullptr;
  size_t stride = 0;
};

/// Calls visit(row) for each row, a few rows a task.
template <typename F>
void ForRows(ThreadPool& pool, uint32_t count, const F& visit) {
  constexpr uint32_t kRowsATask = 8;  // of a norm: a few microseconds
  pool.ParallelFor((count + kRowsATask - 1) / kRowsATask, [&](uint32_t task, uint32_t) {
    const uint32_t end = std::min(count, (task + 1) * kRowsATask);
    for (uint32_t row = task * kRowsATask; row < end; ++row) visit(row);
  });
}

/// Executes the program of a model's layers on working memory that it owns. Linear maps of one
/// input are one call of Linear, an activation is its epilogue, and a residual sum and the norm
/// that alone wants it are one pass over the rows. One thread at a time; the pool outlives it.
class LayerExecutor {
 public:
  /// `linear` computes the products, of which the arithmetic is that of attention too if `packed`.
  LayerExecutor(const ModelInfo& info, std::unique_ptr<Linear> linear, bool packed,
                ThreadPool& pool);

  /// Returns what bytes() is once this much is reserved. It depends on its arguments alone.
  static uint64_t RoomFor(const ModelShape& shape, const Arithmetic& arithmetic, bool packed,
                          uint32_t threads, const TransformerLimits& limits);

  /// Makes room for batches and layers up to these limits, in place of what was reserved before.
  void Reserve(const TransformerLimits& limits);
  /// Makes room for these limits too.
  void MakeRoom(const TransformerLimits& limits);
  void Release();
  void VisitMemory(FunctionRef<void(AlignedBuffer&)> visit);
  /// Returns the bytes that are reserved.
  [[nodiscard]] uint64_t bytes() const { return buffer_.size() + linear_->bytes(); }

  /// Computes the whole layer, `hidden` [tokens, d] to [rows, d], in place.
  void Run(const LayerCall& call, float* hidden);
  /// Computes the first piece, to `context` [rows, slices * head_dim], rows `stride` apart.
  void RunContext(const LayerCall& call, const float* hidden, float* context, size_t stride);
  /// Computes the second piece on the contexts of slices, `hidden` [rows, d] in place.
  void RunFinish(uint32_t rows, const LayerPart& part, std::span<const ContextRef> contexts,
                 float* hidden);

  [[nodiscard]] Linear& linear() { return *linear_; }
  /// Returns the room for sums over slices, [tokens, d], which nothing needs between layers.
  [[nodiscard]] float* sums() { return floats() + layout_.sums(); }
  [[nodiscard]] const TransformerLimits& limits() const { return limits_; }

 private:
  struct Place;
  struct Frame;

  [[nodiscard]] float* floats() { return reinterpret_cast<float*>(buffer_.data()); }
  [[nodiscard]] Place PlaceOf(LayerValue value, float* hidden);
  [[nodiscard]] Frame FrameOf(const LayerPart& part, float* hidden);
  void RunSteps(LayerProgram steps, Frame& frame);
  void RunProducts(LayerProgram steps, Frame& frame);
  void AddProducts(const LinearStep& step, bool activated, Frame& frame);
  void RunAttention(const AttendStep& step, Frame& frame);
  void RunAdd(const AddStep& add, Frame& frame);
  void RunNorm(const NormStep& norm, const AddStep* add, Frame& frame);

  ModelShape shape_;
  LayerProgram program_ = LayerOf(shape_);
  float eps_;
  ShardMatrixTable matrices_;
  ByValue<bool> is_of_all_rows_;
  std::unique_ptr<Linear> linear_;
  bool packed_;
  ThreadPool& pool_;

  TransformerLimits limits_;
  LayerLayout layout_;
  AlignedBuffer buffer_;
  std::vector<LinearTerm> terms_;
  std::vector<LinearSum> sums_of_terms_;
  std::vector<ContextRef> contexts_;  ///< of Run
};

}  // namespace sti
