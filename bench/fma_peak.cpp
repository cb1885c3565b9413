// Compiled for the machine that builds it, with contraction on: see CMakeLists.txt.
#include "fma_peak.h"

#include <chrono>

namespace sti {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kChains = 24;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
constexpr int kChains = 12;
#else
constexpr int kVectorBytes = 16;
constexpr int kChains = 12;
#endif
using Vector __attribute__((vector_size(kVectorBytes))) = float;
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(float));

}  // namespace

double FmaPeakGflops(uint64_t rounds) {
  // Read through volatile, so that nothing is known to the compiler; every chain has a start of its
  // own, or they would be merged into one. x -> 0.5 x + 0.5 tends to 1: finite and normal.
  volatile float half = 0.5F;
  const Vector factor = Vector{} + half;
  const Vector term = Vector{} + half;
  Vector sums[kChains];
  for (int chain = 0; chain < kChains; ++chain) {
    sums[chain] = Vector{} + half * static_cast<float>(chain + 2);
  }
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = sums[chain] * factor + term;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  Vector total = {};
  for (const Vector& sum : sums) total += sum;
  volatile float sink = total[0];
  (void)sink;
  return 2.0 * kLanes * kChains * static_cast<double>(rounds) / seconds.count() / 1e9;
}

}  // namespace sti
