// Bounds the memory of activations: decides how much of a chunk is computed at once, and holds the
// buffers for that.
#pragma once

#include <cstdint>
#include <vector>

#include "importance/examples.h"
#include "importance/layer_runner.h"

namespace sti {

/// Holds the buffers of one measurement, all of them allocated at once.
class ActivationRoom {
 public:
  /// Takes as much as `limit_bytes` allows and the chunks can use, at least what one example needs.
  /// `branches`: points that a sweep of submodels branches at.
  ActivationRoom(LayerRunner& runner, std::span<const ExampleBatch> chunks, size_t branches,
                 uint64_t limit_bytes);

  /// Returns the tokens that are computed at once, copies included; no example has more.
  [[nodiscard]] uint32_t rows() const { return rows_; }
  /// Returns the bytes of all buffers, those of the runner included.
  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  /// Returns the bytes that the longest example needs alone: no bound below it can be kept.
  [[nodiscard]] uint64_t least_bytes() const { return least_bytes_; }

  /// Splits a chunk into ranges of whole examples, each range of at most rows() tokens.
  [[nodiscard]] std::vector<SequenceRange> Split(const ExampleBatch& chunk) const;

  std::vector<float> base;          ///< [rows, d] input of some layer, all at the fewest bits
  std::vector<float> contexts;      ///< [rows, d] contexts of all slices
  std::vector<float> own_context;   ///< [rows, head_dim] context of the raised slice
  std::vector<float> hidden;        ///< [rows, d]
  std::vector<float> last_context;  ///< [wanted, d]
  std::vector<float> wanted;        ///< [wanted, d] rows of the last layer that the head wants
  std::vector<float> values;        ///< [results, values] of the head
  std::vector<std::vector<float>> branches;  ///< [branches][rows, d]
  /// [layers][tokens of the chunk, d] inputs of all layers of the base; empty if there is no room.
  std::vector<std::vector<float>> inputs;

 private:
  [[nodiscard]] uint64_t Floats(uint32_t rows) const;
  [[nodiscard]] uint32_t Sequences(uint32_t rows) const;
  [[nodiscard]] uint32_t Wanted(uint32_t rows) const;
  [[nodiscard]] uint32_t Results(uint32_t rows) const;
  void Take();

  ModelShape shape_;
  HeadTraits head_;
  uint32_t head_values_;
  LengthRange lengths_;
  uint64_t chunk_tokens_ = 0;  // tokens of the largest chunk
  size_t branch_count_ = 0;
  uint32_t rows_ = 0;
  bool holds_inputs_ = false;
  uint64_t bytes_ = 0;
  uint64_t least_bytes_ = 0;
};

}  // namespace sti
