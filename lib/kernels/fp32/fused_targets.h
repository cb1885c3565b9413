// What fused.cpp chooses; not for others.
#pragma once

#include "kernels/fp32/fused.h"

namespace sti {

/// Whether AVX-512 with VBMI and GFNI is there and in force.
bool HasByteLookups();

/// InterleaveRows of `ins` inputs, a multiple of four. Call only where HasByteLookups.
void InterleaveRowsAvx512(const float* in, size_t stride, uint32_t rows, uint32_t ins, float* out);

/// The overlay is filled. Call only where CanFuse.
void MultiplyDecodingAvx512(const FusedProduct& product);

}  // namespace sti
