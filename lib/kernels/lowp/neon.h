// NEON's dot products: SDOT (FEAT_DotProd) and BFDOT (FEAT_BF16). For the files of those
// instructions alone; they are compiled on aarch64 only.
#pragma once

#include <arm_neon.h>

#include "hwy/base.h"

// SDOT is used on CPUs that may have no BFDOT: bf16's instructions come of its intrinsics alone, so
// one list does for both.
#if HWY_COMPILER_CLANG
#define STI_NEON_ATTRIBUTES "dotprod,bf16"
#else
#define STI_NEON_ATTRIBUTES "arch=armv8.2-a+dotprod+bf16"
#endif
