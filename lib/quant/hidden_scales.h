// Scales along the hidden dimension: weights of one layer differ in spread by hidden channel, and
// one codebook a layer fits them better once each is divided by the spread of its channel.
//
// A channel is a column of Q, K, V and FFN1, whose inputs it is, and a row of O and FFN2, whose
// outputs it is. So a shard's slice of a matrix needs the same scales as the whole matrix.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "types/model_info.h"

namespace sti {

/// [matrices of a layer, hidden]: for each matrix the root mean square of each hidden channel's
/// weights, rounded to bfloat16; 1 where that is not above 0. `weights`: a layer as in
/// QuantizeLayer, finite. Each sum runs in one order, so that any machine gives the same numbers.
/// Thread-safe.
std::vector<float> FitHiddenScales(std::span<const float> weights, const ModelShape& shape);

/// Divides each weight by the scale of its channel.
void DivideByHiddenScales(std::span<const float> scales, const ModelShape& shape,
                          std::span<float> weights);

}  // namespace sti
