// The functions of fused products that need AVX-512, and whether this CPU has it. Only
// fused.cpp calls them, where they can run.
#pragma once

#include "kernels/fp32/fused.h"

namespace sti {

/// Returns whether AVX-512 with VBMI and GFNI is there and in force.
bool HasByteLookups();

/// Does what InterleaveRows does, for `ins` a multiple of four. Call only where HasByteLookups.
void InterleaveRowsAvx512(const float* in, size_t stride, uint32_t rows, uint32_t ins, float* out);

/// Does what MultiplyDecoding does, once the overlay is filled. Call only where CanFuse.
void MultiplyDecodingAvx512(const FusedProduct& product);

}  // namespace sti
