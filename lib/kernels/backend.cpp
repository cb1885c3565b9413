#include "kernels/backend.h"

#include <array>
#include <utility>

// clang-format off
#include "kernels/highway_targets.h"
#include "hwy/highway.h"
// clang-format on

namespace sti {
namespace {

struct NamedTarget {
  std::string_view name;
  int64_t target;
};

#if HWY_ARCH_X86
constexpr std::array<NamedTarget, 4> kTargets = {{{"avx512", HWY_AVX3},
                                                  {"avx2", HWY_AVX2},
                                                  {"sse4", HWY_SSE4},
                                                  {"portable", HWY_EMU128 | HWY_SCALAR}}};
#elif HWY_ARCH_ARM
constexpr std::array<NamedTarget, 2> kTargets = {
    {{"neon", HWY_NEON}, {"portable", HWY_EMU128 | HWY_SCALAR}}};
#else
constexpr std::array<NamedTarget, 1> kTargets = {{{"portable", HWY_EMU128 | HWY_SCALAR}}};
#endif

// What was compiled and can run here. The static target, the fallback of all, always can.
int64_t UsableTargets() { return (hwy::SupportedTargets() | HWY_STATIC_TARGET) & HWY_TARGETS; }

}  // namespace

std::string KernelName(Backend backend) {
  if (backend == Backend::kOpenBlas) return "openblas-fp32";
  const std::vector<std::string> sets = InstructionSets();
  return "native-" + (sets.empty() ? std::string("unknown") : sets.front()) + "-fp32";
}

std::vector<std::string> InstructionSets() {
  std::vector<std::string> names;
  for (const NamedTarget& named : kTargets) {
    if ((UsableTargets() & named.target) != 0) names.emplace_back(named.name);
  }
  return names;
}

bool LimitInstructionSet(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  if (name.empty()) return true;
  // Better targets come first in the table, and Highway takes the best of those left.
  int64_t better = 0;
  for (const NamedTarget& named : kTargets) {
    if (named.name == name && (UsableTargets() & named.target) != 0) {
      const int64_t left = hwy::SupportedTargets() & ~better;
      hwy::SetSupportedTargetsForTest(left);
      hwy::GetChosenTarget().Update(left);
      return true;
    }
    better |= named.target;
  }
  return false;
}

}  // namespace sti
