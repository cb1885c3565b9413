// The address of a shard, and the sizes of all. A model has N x M shards: M slices of each of its N
// layers. A shard catalog is what a planner needs to know of a container.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

/// Holds the size of every shard at every stored bitwidth.
struct ShardCatalog {
  uint32_t layers = 0;
  uint32_t width = 0;
  std::vector<uint32_t> bits;        ///< stored bitwidths, ascending, e.g. 2,3,4,5,6,32
  std::vector<uint64_t> read_bytes;  ///< [layers][width][bits]: bytes a read moves, block-widened
  uint32_t block_bytes = 4096;       ///< what reads are multiples of

  /// Returns the bytes that a read of the shard moves; nothing if no such shard is stored.
  [[nodiscard]] std::optional<uint64_t> BytesOf(const ShardAtBits& shard) const;
  /// Returns the bytes of all these shards; those that are not stored count nothing.
  [[nodiscard]] uint64_t BytesOfAll(std::span<const ShardAtBits> shards) const;
};

}  // namespace sti
