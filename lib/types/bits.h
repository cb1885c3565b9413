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

/// Returns whether a shard held at `held` bits lacks planes alone for `wanted` bits. Full fidelity
/// shares no plane with fewer bits.
constexpr bool Extends(uint32_t held, uint32_t wanted) {
  return held >= kLeastBits && held < wanted && wanted <= kMostBits;
}

}  // namespace sti
