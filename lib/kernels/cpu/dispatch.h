// The choice among the functions that Highway compiled, one for each instruction set, by what runs
// here.
//
// Highway's own tables need libhwy.so, which finds out at every start of a process how fine its
// timer is: 5 ms, the whole of what a cold start may take beside its reads. So the choice is ours,
// and of Highway we use the headers alone.
//
// Included after highway.h, in the part of a file that is compiled once (HWY_ONCE).
#pragma once

#include <cstddef>

#include "kernels/cpu/highway_targets.h"

namespace sti {

/// Returns the index into the tables of STI_EXPORT of the best usable set, or of the one that
/// LimitInstructionSet asked for. Thread-safe.
size_t ChosenTarget();

}  // namespace sti

// In the order of kTargets in backend.cpp.
#if HWY_ARCH_X86
#define STI_TARGETS_OF(F) \
  HWY_CHOOSE_AVX3(F), HWY_CHOOSE_AVX2(F), HWY_CHOOSE_SSE4(F), HWY_CHOOSE_FALLBACK(F)
#elif HWY_ARCH_ARM
#define STI_TARGETS_OF(F) HWY_CHOOSE_NEON(F), HWY_CHOOSE_NEON(F), HWY_CHOOSE_FALLBACK(F)
#else
#define STI_TARGETS_OF(F) HWY_CHOOSE_FALLBACK(F)
#endif

/// Defines the table of a function of HWY_NAMESPACE, in whose enclosing namespace it stands.
#define STI_EXPORT(F) \
  static decltype(&HWY_STATIC_DISPATCH(F)) const k##F##Targets[] = {STI_TARGETS_OF(F)}

/// The function to call.
#define STI_DISPATCH(F) (*k##F##Targets[ChosenTarget()])
