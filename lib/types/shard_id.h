// The address of a shard. A model has N x M shards: M slices of each of its N layers.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace sti {

/// An original layer and a stored slice. A position in a plan (the k-th layer that it runs, its
/// i-th slice) is never a ShardId; Plan::Id(k, i) gives the ShardId at a position.
struct ShardId {
  uint32_t layer = 0;
  uint32_t slice = 0;
  // clang-tidy 14 takes the 0 of a defaulted comparison for a null pointer.
  friend auto operator<=>(const ShardId&, const ShardId&) = default;  // NOLINT
};

/// A shard at one of its bitwidths.
struct ShardAtBits {
  ShardId id;
  uint32_t bits = 0;
  friend auto operator<=>(const ShardAtBits&, const ShardAtBits&) = default;  // NOLINT
};

/// Returns "layer 3 slice 5".
inline std::string NameOf(ShardId id) {
  return "layer " + std::to_string(id.layer) + " slice " + std::to_string(id.slice);
}

/// Returns "layer 3 slice 5 at 4 bits".
inline std::string NameOf(const ShardAtBits& shard) {
  return NameOf(shard.id) + " at " + std::to_string(shard.bits) + " bits";
}

}  // namespace sti
