// Parameters that stay resident in full: all but the weights in shards and the embedding rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "types/model_info.h"

namespace sti {

/// One layer's biases and norms. d: hidden size, f: FFN size, of the full model.
struct LayerParameters {
  std::vector<float> query_bias;             ///< [d]; slice s has rows [s * d/M, (s + 1) * d/M)
  std::vector<float> key_bias;               ///< [d], cut into slices as query_bias is
  std::vector<float> value_bias;             ///< [d], cut into slices as query_bias is
  std::vector<float> output_bias;            ///< [d]; added once, whatever the width
  std::vector<float> attention_norm_weight;  ///< [d]
  std::vector<float> attention_norm_bias;    ///< [d]
  std::vector<float> ffn1_bias;              ///< [f]; slice s has rows [s * f/M, (s + 1) * f/M)
  std::vector<float> ffn2_bias;              ///< [d]; added once, whatever the width
  std::vector<float> output_norm_weight;     ///< [d]
  std::vector<float> output_norm_bias;       ///< [d]
};

/// The norm after the sum of embeddings.
struct EmbeddingNorm {
  std::vector<float> weight;  ///< [d]
  std::vector<float> bias;    ///< [d]
};

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
  StoredMatrix pooler_weight;            ///< [d, d] as in y = W x
  std::vector<float> pooler_bias;        ///< [d]
  std::vector<float> classifier_weight;  ///< [labels, d] row-major
  std::vector<float> classifier_bias;    ///< [labels]
};

}  // namespace sti
