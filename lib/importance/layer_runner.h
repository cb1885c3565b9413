// A model in memory and the pieces of its layers, counted as they are computed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "importance/examples.h"
#include "importance/flops.h"
#include "model/loaded_model.h"

namespace sti {

/// Some sequences of a chunk.
struct SequenceRange {
  uint32_t first = 0;  ///< sequence
  uint32_t count = 0;
};

/// Returns the Batch::offsets of a range of sequences, their tokens counted from 0, `copies` times
/// over.
std::vector<uint32_t> OffsetsOf(const ExampleBatch& chunk, SequenceRange range, uint32_t copies);

/// Computes layers of the first slices of a model. One thread at a time; the same values for any
/// thread count.
class LayerRunner {
 public:
  static Result<std::unique_ptr<LayerRunner>> Create(LoadedModel model, ComputeType compute,
                                                     uint32_t threads);

  [[nodiscard]] const ContainerIndex& index() const { return model_.index(); }
  [[nodiscard]] const ModelShape& shape() const { return index().info.shape; }
  [[nodiscard]] const std::string& name() { return model_.file().name(); }
  [[nodiscard]] const ResidentModel& resident() const { return model_.resident(); }
  [[nodiscard]] Kernel kernel() const { return transformer_->kernel(); }
  [[nodiscard]] ThreadPool& pool() { return pool_; }
  /// Returns the floating-point operations since the beginning, as importance/flops.h counts them.
  [[nodiscard]] uint64_t flops() const { return flops_; }

  /// Makes room for batches of `tokens` tokens, and bytes that it takes.
  uint64_t Reserve(uint32_t tokens);

  /// Returns the first `width` slices of a layer at `bits`, which were loaded.
  [[nodiscard]] std::vector<ShardView> Views(uint32_t layer, uint32_t width, uint32_t bits) const;
  [[nodiscard]] const ShardView& View(uint32_t layer, uint32_t slice, uint32_t bits) const {
    return model_.View(layer, slice, bits);
  }

  /// Writes the embeddings of a range of sequences to `hidden` [tokens of the range, d].
  [[nodiscard]] Status Embed(const ExampleBatch& chunk, SequenceRange range, float* hidden);
  /// Computes a layer of its first slices on `hidden`, in place. `received`: as Transformer has it,
  /// here and below.
  void Layer(const Batch& batch, uint32_t layer, std::span<const ShardView> views, float* hidden,
             float* received = nullptr);
  /// Compute the two pieces of a layer as Transformer does; `first` is the slice that `views` begin
  /// with.
  void Context(const Batch& batch, uint32_t layer, uint32_t first, std::span<const ShardView> views,
               const float* hidden, OutputRows rows, float* context, float* received = nullptr);
  void Finish(uint32_t rows, uint32_t layer, std::span<const ShardView> views,
              std::span<const ContextRef> contexts, float* hidden);
  /// Returns the rows that the head wants of the last layer.
  [[nodiscard]] OutputRows head_rows() const { return index().info.head.rows(); }
  /// Returns the rows that are wanted of a layer of the whole model.
  [[nodiscard]] OutputRows RowsOf(uint32_t layer) const {
    return layer + 1 == shape().layers ? head_rows() : OutputRows::kAll;
  }
  /// Computes the layer before the head: `wanted` [rows, d] are those that the head wants.
  /// `context` is scratch of as many floats and 16 more.
  void LastLayer(const Batch& batch, uint32_t layer, std::span<const ShardView> views,
                 const float* hidden, float* context, float* wanted, float* received = nullptr);
  /// Returns how many numbers each result of the head has, one a sequence or one a token.
  [[nodiscard]] uint32_t head_values() const { return index().info.head_values(); }
  /// Returns how many values the head gives for a batch.
  [[nodiscard]] size_t ValuesOf(const Batch& batch) const {
    return size_t{batch.Results(index().info.head)} * head_values();
  }
  /// Computes `values` [results, head_values] of the rows that the head wants, `wanted` [rows, d].
  void Head(const Batch& batch, const float* wanted, float* values);

 private:
  LayerRunner(LoadedModel model, uint32_t threads);
  [[nodiscard]] LayerPart PartOf(uint32_t layer, uint32_t first,
                                 std::span<const ShardView> views) const;

  LoadedModel model_;
  ThreadPool pool_;
  std::unique_ptr<Transformer> transformer_;
  std::vector<uint32_t> slices_;  // 0, 1, ...
  uint64_t flops_ = 0;
};

/// Returns the contexts of slices that lie side by side, [rows, slices * head_dim].
std::vector<ContextRef> ContextsOf(const float* context, const ModelShape& shape, size_t slices);

}  // namespace sti
