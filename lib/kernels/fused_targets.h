// What fused.cpp chooses; not for others.
#pragma once

#include "kernels/fused.h"

namespace sti {

/// Whether AVX-512 with VBMI and GFNI is there and in force.
bool HasByteLookups();

/// The overlay is filled. Call only where CanFuse.
void MultiplyDecodingAvx512(const FusedProduct& product);

}  // namespace sti
