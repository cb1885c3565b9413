#include "kernels/backend.h"

#include <array>
#include <atomic>

// clang-format off
#include "kernels/cpu/highway_targets.h"
#include "hwy/highway.h"
#include "kernels/cpu/dispatch.h"
// clang-format on

#include "kernels/fp32/fused.h"
#include "kernels/lowp/targets.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#elif STI_PACKED_NEON && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace sti {
namespace {

constexpr std::string_view kOpenBlas = "openblas";

struct Target {
  std::string_view name;
  bool compiled;
  bool (*runs_here)();
};

bool Always() { return true; }

// These functions return whether the CPU has what Highway lets its compiler use for a target.
#if HWY_ARCH_X86
bool CpuBit(uint32_t leaf, uint32_t ecx_bit) {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(leaf, &a, &b, &c, &d) != 0 && (c >> ecx_bit & 1U) != 0;
}
bool HasSse4() {
  return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
         __builtin_cpu_supports("aes");
}
bool HasAvx2() {
  constexpr uint32_t kF16c = 29;
  constexpr uint32_t kLzcnt = 5;
  return HasSse4() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && CpuBit(1, kF16c) &&
         CpuBit(0x80000001, kLzcnt);
}
bool HasAvx512() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
// Returns whether the CPU has VBMI and GFNI too, which Highway's AVX-512 does not count on.
bool HasVbmi() {
  return HasAvx512() && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("gfni");
}
bool HasPacked(ComputeType type) {
  if (!HasVbmi()) return false;
  if (type == ComputeType::kBf16) return __builtin_cpu_supports("avx512bf16");
  return type == ComputeType::kInt8 && __builtin_cpu_supports("avx512vnni");
}
constexpr std::array<Target, 4> kTargets = {{{"avx512", (HWY_TARGETS & HWY_AVX3) != 0, HasAvx512},
                                             {"avx2", (HWY_TARGETS & HWY_AVX2) != 0, HasAvx2},
                                             {"sse4", (HWY_TARGETS & HWY_SSE4) != 0, HasSse4},
                                             {"portable", true, Always}}};
#elif HWY_ARCH_ARM
bool HasVbmi() { return false; }
#if STI_PACKED_NEON && defined(__linux__)
// SDOT, since Armv8.2. CPUs with BFDOT have it too, and our files for either are compiled for it.
bool HasDotProducts() { return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; }
bool HasPacked(ComputeType type) {
  if (!HasDotProducts()) return false;
  return type == ComputeType::kInt8 || (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0;
}
#else
bool HasDotProducts() { return false; }
bool HasPacked(ComputeType /*type*/) { return false; }
#endif
// "armv8" is a CPU without dot products; fp32 is the same on both.
constexpr std::array<Target, 3> kTargets = {
    {{"neon", (HWY_TARGETS & HWY_NEON) != 0, Always},
     {"armv8", (HWY_TARGETS & HWY_NEON) != 0, HasDotProducts},
     {"portable", (HWY_TARGETS & (HWY_EMU128 | HWY_SCALAR)) != 0, Always}}};
#else
bool HasVbmi() { return false; }
bool HasPacked(ComputeType /*type*/) { return false; }
constexpr std::array<Target, 1> kTargets = {{{"portable", true, Always}}};
#endif

bool Usable(const Target& target) { return target.compiled && target.runs_here(); }

size_t BestTarget() {
  size_t best = 0;
  while (best + 1 < kTargets.size() && !Usable(kTargets[best])) ++best;
  return best;
}

std::atomic<size_t>& Chosen() {
  static std::atomic<size_t> chosen{BestTarget()};
  return chosen;
}

}  // namespace

size_t ChosenTarget() { return Chosen().load(std::memory_order_relaxed); }

bool HasByteLookups() {
  static const bool kHas = HasVbmi();
  return kHas && kTargets[ChosenTarget()].name == "avx512";
}

bool HasPackedInstructions(ComputeType type) {
  static const std::array<bool, 3> kHas = {false, HasPacked(ComputeType::kBf16),
                                           HasPacked(ComputeType::kInt8)};
  return kHas[static_cast<size_t>(type)] && ChosenTarget() == 0;
}

std::vector<ComputeType> ComputeTypes() {
  std::vector<ComputeType> types = {ComputeType::kFp32};
  for (const ComputeType type : {ComputeType::kBf16, ComputeType::kInt8}) {
    if (HasPackedInstructions(type)) types.push_back(type);
  }
  return types;
}

Kernel KernelFor(const Arithmetic& arithmetic) {
  const std::string backend = arithmetic.backend == Backend::kOpenBlas
                                  ? std::string(kOpenBlas)
                                  : "native-" + std::string(kTargets[ChosenTarget()].name);
  return {backend + "-" + std::string(NameOf(arithmetic.type)), arithmetic.type};
}

Backend BackendNamed(std::string_view kernel) {
  return kernel.starts_with(kOpenBlas) ? Backend::kOpenBlas : Backend::kNative;
}

std::vector<std::string> InstructionSets() {
  std::vector<std::string> names;
  for (const Target& target : kTargets) {
    if (Usable(target)) names.emplace_back(target.name);
  }
  return names;
}

bool LimitInstructionSet(std::string_view name) {
  Chosen() = BestTarget();
  if (name.empty()) return true;
  for (size_t i = 0; i < kTargets.size(); ++i) {
    if (kTargets[i].name != name || !Usable(kTargets[i])) continue;
    Chosen() = i;
    return true;
  }
  return false;
}

}  // namespace sti
