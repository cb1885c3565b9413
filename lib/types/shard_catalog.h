// A shard catalog is what a planner needs to know of a container: the sizes of its shards.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "types/shard_id.h"

namespace sti {

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
