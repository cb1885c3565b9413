// A batch of sequences, and the rows of it that a layer gives.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "network/layer_program.h"

namespace sti {

/// Sequences one after another, without padding.
struct Batch {
  std::span<const uint32_t> offsets;  ///< [sequences + 1] first token of each, then the end

  [[nodiscard]] uint32_t sequences() const { return static_cast<uint32_t>(offsets.size() - 1); }
  [[nodiscard]] uint32_t tokens() const { return offsets.back(); }
  [[nodiscard]] uint32_t longest() const {
    uint32_t longest = 0;
    for (size_t s = 0; s + 1 < offsets.size(); ++s) {
      longest = std::max(longest, offsets[s + 1] - offsets[s]);
    }
    return longest;
  }
  /// Returns the token that the `row`-th of `rows` is the output of.
  [[nodiscard]] uint32_t TokenOf(OutputRows rows, uint32_t row) const {
    if (rows == OutputRows::kLast) return offsets[row + 1] - 1;
    return rows == OutputRows::kAll ? row : offsets[row];
  }
  /// Returns how many results a head has for it.
  [[nodiscard]] uint32_t Results(const HeadTraits& head) const {
    return head.output == HeadOutput::kTokenLabels ? tokens() : sequences();
  }
  /// Returns how many rows of it `rows` are.
  [[nodiscard]] uint32_t Count(OutputRows rows) const {
    return rows == OutputRows::kAll ? tokens() : sequences();
  }
};

/// Copies those of the rows of `hidden` [tokens, d] that are wanted, one after another, to `wanted`
/// [rows, d], which may be `hidden` itself.
inline void CopyRows(const Batch& batch, OutputRows rows, uint32_t d, const float* hidden,
                     float* wanted) {
  for (uint32_t row = 0; row < batch.Count(rows); ++row) {
    const float* from = hidden + size_t{batch.TokenOf(rows, row)} * d;
    float* to = wanted + size_t{row} * d;
    if (from != to) std::copy_n(from, d, to);
  }
}

}  // namespace sti
