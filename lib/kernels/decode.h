// The weights of a shard, decoded from its stored parts: panels and whole shards, outliers
// included, and the look-ups that they are put together from.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "shard/view.h"
#include "shard/weight_order.h"
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

/// Writes the weights of a stretch, [ins, width]: scaled centroids, outliers patched in; or the
/// converted full-fidelity values. `out` has room for ins * width rounded up to a multiple of 64.
/// Thread-safe.
void DecodePanel(const ShardView& shard, const PanelStretch& stretch, float* out);

/// Returns all weights of a shard of `shape`, in weight order. Thread-safe.
std::vector<float> DecodeShard(const ShardView& shard, const ModelShape& shape);

/// Writes `count` weights of a shard without scales from stream index `first` on, which needs no
/// alignment; room as in DecodePanel. Thread-safe.
void DecodeWeights(const ShardView& shard, uint64_t first, uint64_t count, float* out);

}  // namespace sti
