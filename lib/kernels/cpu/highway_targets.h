// The instruction sets that our Highway files are compiled for: AVX-512, AVX2, SSE4 and the
// portable one on x86, NEON on aarch64. Included before any Highway header, so that every file has
// the same ones. SVE's vectors have no size that a compiler knows, and our kernels keep arrays of
// them.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
