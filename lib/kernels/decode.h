// From stored bits to weights, without outliers. DecodeWeights (shard_view.h) puts them together.
#pragma once

#include <array>
#include <cstdint>

#include "types/model_info.h"

namespace sti {

/// Writes centroids[code] for `count` codes from stream index `first` on; planes as in ShardView.
/// `bits` is 2..6. `out` has room for count rounded up to a multiple of 64, and all of that may be
/// written. Thread-safe.
void DecodePlanes(const std::array<const uint8_t*, 6>& planes, uint32_t bits,
                  const float* centroids, uint64_t first, uint64_t count, float* out);

/// Widens `count` weights of `type` at `source` (any alignment). Thread-safe.
void WidenWeights(const uint8_t* source, DataType type, uint64_t count, float* out);

}  // namespace sti
