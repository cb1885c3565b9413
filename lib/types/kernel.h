// The arithmetic that a layer is computed with: the precision that weights and activations are
// multiplied in, and the kernel that does so, as profiles and plans name it. The name is for people
// and for comparing; what is computed with follows from `type`, which is read off the name once,
// where a file is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sti {

/// Sums are 32 bits wide in all of them, and all but the products of weights is fp32.
enum class ComputeType : uint8_t {
  kFp32,
  kBf16,  ///< both factors rounded to bfloat16
  kInt8,  ///< weights of a shard and each row of activations rounded to 8 bits
};

/// Returns the name of a type: "fp32", "bf16" or "int8".
std::string_view NameOf(ComputeType type);

/// Returns the type with this name.
std::optional<ComputeType> ParseComputeType(std::string_view name);

/// A backend, its instruction set and the precision of its products: "native-avx512-bf16".
struct Kernel {
  std::string name;                 ///< empty: not known
  std::optional<ComputeType> type;  ///< nothing where the name does not say

  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// Returns the kernel of this name, whose type is the text behind the last dash.
Kernel ParseKernel(std::string name);

}  // namespace sti
