// Bitwidths of a stored shard. Fidelity grows with bits: a shard at 2 to 6 bits holds that many top
// planes of its codes, a shard at full fidelity holds the source's own values.
#pragma once

#include <cstdint>

namespace sti {

inline constexpr uint32_t kLeastBits = 2;
inline constexpr uint32_t kMostBits = 6;   ///< most bits of a code
inline constexpr uint32_t kFullBits = 32;  ///< full fidelity, value-exact in the source's type

/// Returns whether a shard may have this bitwidth: 2 to 6, or 32.
constexpr bool IsBits(uint32_t bits) {
  return (bits >= kLeastBits && bits <= kMostBits) || bits == kFullBits;
}

/// Returns whether reading further planes raises a shard from `held` to `wanted` bits, so that what
/// is held need not be read again. False for full fidelity, which is stored apart from the planes.
constexpr bool Extends(uint32_t held, uint32_t wanted) {
  return held >= kLeastBits && held < wanted && wanted <= kMostBits;
}

}  // namespace sti
