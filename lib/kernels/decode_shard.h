// From the parts of a shard in memory to its weights, outliers included.
#pragma once

#include <cstdint>
#include <vector>

#include "shard/view.h"
#include "shard/weight_order.h"
#include "types/model_info.h"

namespace sti {

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
