// The keys and values of the tokens that a sequence has had: those behind them attend to them, and
// need not compute them again. Attention with a mask alone allows that: a token's never change.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/aligned_buffer.h"
#include "types/model_info.h"

namespace sti {

/// Refers to the keys and values of one layer, where attention reads them.
struct CachedLayer {
  float* keys = nullptr;  ///< [slices * head_dim, context], a column a token
  size_t key_stride = 0;
  float* values = nullptr;  ///< [context, slices * head_dim]
  size_t value_stride = 0;
  uint32_t first = 0;  ///< tokens that are there; those of a call come behind them
};

/// Keeps keys and values of one sequence in the layers of a submodel. One thread at a time.
class KeyValueCache {
 public:
  KeyValueCache() = default;
  /// Makes room for `context` tokens in `layers` layers of `width` slices.
  KeyValueCache(const ModelShape& shape, uint32_t layers, uint32_t width, uint32_t context);

  /// Returns the bytes that such a one takes.
  static uint64_t BytesFor(const ModelShape& shape, uint32_t layers, uint32_t width,
                           uint32_t context);

  /// Returns the k-th layer's, to which a call adds what it computes.
  [[nodiscard]] CachedLayer Layer(uint32_t k);
  /// Says that all layers have had `tokens` tokens more.
  void Add(uint32_t tokens) { count_ += tokens; }
  /// Forgets the tokens behind the first `tokens`, of those that are there.
  void Cut(uint32_t tokens) { count_ = std::min(count_, tokens); }
  /// Forgets all tokens: the next is the first of a sequence.
  void Clear() { Cut(0); }

  [[nodiscard]] uint32_t count() const { return count_; }      ///< tokens that are there
  [[nodiscard]] uint32_t context() const { return context_; }  ///< most tokens
  [[nodiscard]] uint64_t bytes() const { return buffer_.size(); }
  [[nodiscard]] AlignedBuffer& memory() { return buffer_; }

 private:
  uint32_t context_ = 0;
  uint32_t count_ = 0;
  size_t values_width_ = 0;
  size_t key_stride_ = 0;
  size_t layer_floats_ = 0;
  AlignedBuffer buffer_;
};

}  // namespace sti
