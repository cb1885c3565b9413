// Which instruction sets our Highway files are compiled for. Included before any Highway header,
// so that every file has the same ones: AVX-512, AVX2, SSE4 and the portable one on x86.
#pragma once

#define HWY_DISABLED_TARGETS HWY_SSSE3
