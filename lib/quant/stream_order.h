#pragma once

#include <cstdint>
#include <vector>

#include "types/model_info.h"

namespace sti {

/// For each weight of slice `slice` in stream order (kernels/decode_shard.h): its flat index in the
/// layer, that is in Q, K, V, O, FFN1, FFN2 one after the other, each [outs, ins] row-major.
std::vector<uint32_t> StreamOrder(const ModelShape& shape, uint32_t slice);

/// Weights of a whole layer, the sum over its slices.
uint64_t LayerWeights(const ModelShape& shape);

}  // namespace sti
