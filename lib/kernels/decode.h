// From stored bits to weights, without outliers. DecodeWeights (decode_shard.h) puts them together.
#pragma once

#include <array>
#include <cstdint>

#include "types/model_info.h"

namespace sti {

/// The scales that centroids are multiplied by in a panel whose rows are 16 outputs.
enum class Scaling : uint8_t {
  kNone,
  kRows,     ///< one scale a row, that is for each input
  kColumns,  ///< sixteen, one for each output
};

/// Codes and what they mean.
struct CodedWeights {
  const std::array<const uint8_t*, 6>& planes;  ///< as in ShardView
  uint32_t bits = 0;                            ///< 2..6
  const float* centroids = nullptr;             ///< [1 << bits]
  Scaling scaling = Scaling::kNone;
  const float* scales = nullptr;  ///< [count / 16] or [16]
};

/// Writes the weights of `count` codes from stream index `first` on; with scales, of whole rows of
/// 16. `out` has room for count rounded up to a multiple of 64, and all of that may be written.
/// Thread-safe.
void DecodePlanes(const CodedWeights& weights, uint64_t first, uint64_t count, float* out);

/// Widens `count` weights of `type` at `source` (any alignment). Thread-safe.
void WidenWeights(const uint8_t* source, DataType type, uint64_t count, float* out);

}  // namespace sti
