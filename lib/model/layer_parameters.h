// Parameters that stay resident in full: all but the weights in shards and the embedding rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/tensors.h"
#include "types/model_info.h"

namespace sti {

/// Holds the parameters of one home by role, each as long as its tensor.
template <Home kHome>
using Parameters = ByRole<kHome, std::vector<float>>;

/// One layer's biases and norms.
using LayerParameters = Parameters<Home::kLayer>;

/// Rows of token types, and the norm of the sum of embeddings.
using EmbeddingParameters = Parameters<Home::kEmbedding>;

/// A matrix of which the numbers stay as the file has them: half precision takes half the memory,
/// and half the time of reading it.
struct StoredMatrix {
  DataType type = DataType::kF32;
  std::vector<uint8_t> bytes;  ///< [rows, columns] row-major

  /// Makes a matrix of 32-bit floats.
  static StoredMatrix Of(std::span<const float> values);
  /// Widens row `row` of `columns` numbers to `out`.
  void Row(uint32_t row, uint32_t columns, float* out) const;
};

/// Pooler and classifier.
struct HeadParameters {
  StoredMatrix pooler_weight;        ///< [d, d] as in y = W x
  Parameters<Home::kHead> floats{};  ///< all others; the pooler's weight is empty here

  [[nodiscard]] const std::vector<float>& operator[](TensorRole role) const { return floats[role]; }
  [[nodiscard]] std::vector<float>& operator[](TensorRole role) { return floats[role]; }
};

}  // namespace sti
