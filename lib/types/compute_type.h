// The precision that weights and activations are multiplied in.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sti {

/// Sums are 32 bits wide in all of them, and all but the products of weights is fp32.
enum class ComputeType : uint8_t {
  kFp32,
  kBf16,  ///< both factors rounded to bfloat16
  kInt8,  ///< weights of a shard and each row of activations rounded to 8 bits
};

/// "fp32", "bf16", "int8".
std::string_view NameOf(ComputeType type);

/// The type with this name.
std::optional<ComputeType> ParseComputeType(std::string_view name);

}  // namespace sti
