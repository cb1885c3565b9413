// The arithmetic that computes a layer: a backend, the precision of its products, and the
// instruction sets that this machine has for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "types/kernel.h"

namespace sti {

enum class Backend : uint8_t {
  kNative,    ///< our kernels: each panel decoded into cache and multiplied there
  kOpenBlas,  ///< the plain reference: matrices decoded whole, multiplied by OpenBLAS
};

/// How layers are computed.
struct Arithmetic {
  Backend backend = Backend::kNative;
  ComputeType type = ComputeType::kFp32;  ///< OpenBLAS has fp32 only
};

/// Returns the arithmetic as profiles and plans record it: "native-avx512-bf16", "openblas-fp32".
/// The native name says the instruction set chosen on this machine. Thread-safe.
Kernel KernelFor(const Arithmetic& arithmetic);

/// Returns the backend that a kernel of this name (KernelFor) belongs to; native unless the name
/// is another's. Thread-safe.
Backend BackendNamed(std::string_view kernel);

/// Types that the native kernels compute with here, fp32 first, then ever faster. On x86
/// bf16 wants AVX512_BF16, int8 wants AVX512_VNNI, both AVX512_VBMI and GFNI; on aarch64 both want
/// dot products (FEAT_DotProd), bf16 FEAT_BF16 besides. Thread-safe.
std::vector<ComputeType> ComputeTypes();

/// Returns the instruction sets that the native kernels can use here, best first: "avx512", "avx2",
/// "sse4", "portable"; on aarch64 "neon", and "armv8", which is the same without dot products. Only
/// the first multiplies in bf16 and int8. Thread-safe.
std::vector<std::string> InstructionSets();

/// Keeps the native kernels to `name`, one of InstructionSets(), or with "" to the best again: to
/// play a smaller CPU. False if there is no such set. Not while kernels run.
bool LimitInstructionSet(std::string_view name);

}  // namespace sti
