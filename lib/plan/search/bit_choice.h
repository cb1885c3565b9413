// The bits of one submodel as an optimisation problem, solved all but exactly.
//
// A prefix of the shards, in layer order, is preloaded and shares S bytes; the others share IO
// time, of which each layer's budget (AIB) limits everything up to it. So the best bits for every
// possible prefix come from two passes of dynamic programming: forward over bytes, and backward
// over time. Backward, because the choice for shards i.. is then one number on the time side: how
// much too late its tightest layer would be if shard i's load began at time 0.
//
// A state is (what is used up, loss). Only states that no other beats in both are kept, and of
// these at most `states` a shard: the answer is always feasible, and exact while nothing had to be
// dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sti {

/// Tables are [shards][levels], shards in layer order, `width` of them a layer.
struct BitProblem {
  size_t width = 0;
  size_t levels = 0;
  std::vector<double> loss;         ///< what a level costs in quality, >= 0
  std::vector<double> load_us;      ///< IO time if streamed
  std::vector<uint64_t> bytes;      ///< room if preloaded
  std::vector<double> capacity_us;  ///< [layers] IO time there is until each layer must start
  uint64_t preload_bytes = 0;       ///< S
  std::vector<size_t> floor;        ///< [shards] lowest level allowed
  std::vector<size_t> ceiling;      ///< [shards] highest level allowed

  [[nodiscard]] size_t shards() const { return floor.size(); }
  [[nodiscard]] size_t At(size_t shard, size_t level) const { return shard * levels + level; }
};

struct BitChoice {
  std::vector<size_t> levels;  ///< [shards]
  size_t preloaded = 0;        ///< shards in the prefix
  double loss = 0;             ///< sum over shards
};

/// The least loss; nothing if no levels keep within S and every capacity. Takes
/// shards * levels * states steps and shards * states * 24 bytes, twice.
std::optional<BitChoice> ChooseBits(const BitProblem& problem, size_t states);

}  // namespace sti
