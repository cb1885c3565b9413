// The most that a core computes, measured beside what kernels reach, so that a share of it can be
// told on a machine that others use.
#pragma once

#include <cstdint>

namespace sti {

/// Fused multiply-adds of one core at full width, in GFLOP/s: runs `rounds` rounds of independent
/// chains that never leave registers. The most that any product can reach here.
double FmaPeakGflops(uint64_t rounds);

}  // namespace sti
