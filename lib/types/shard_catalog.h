#pragma once

#include <cstdint>
#include <vector>

namespace sti {

/// Size of every shard at every stored bitwidth: what a planner needs to know of a container.
struct ShardCatalog {
  uint32_t layers = 0;
  uint32_t width = 0;
  std::vector<uint32_t> bits;        ///< stored bitwidths, ascending, e.g. 2,3,4,5,6,32
  std::vector<uint64_t> read_bytes;  ///< [layers][width][bits]: bytes a read moves, block-widened
  uint32_t block_bytes = 4096;       ///< what reads are multiples of
};

}  // namespace sti
