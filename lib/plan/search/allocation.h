// An allocation is the bits of one submodel while they are being chosen (STI 5.4.3), under time and
// memory.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "plan/budget.h"
#include "plan/play/shard_costs.h"

namespace sti {

/// Levels that one shard may have.
struct LevelRange {
  size_t floor = 0;
  size_t ceiling = 0;
};

/// Holds the bits of n x m shards and which prefix of them, in layer order, is preloaded: the
/// longest that fits S (shorter only where memory is bounded and leaves too little for staging).
/// Keeps the streamed IO of each layer up to date, so that trying one shard costs O(n + m). One
/// thread at a time. `costs` must outlive it.
class Allocation {
 public:
  /// `layers` are the original indexes executed; `ranges` has one entry a shard, or none where any
  /// level is allowed. Starts at the lowest levels.
  Allocation(const ShardCosts& costs, std::span<const uint32_t> layers, uint32_t width,
             const Budget& budget, std::vector<LevelRange> ranges = {});

  [[nodiscard]] size_t shards() const { return levels_.size(); }
  [[nodiscard]] uint32_t width() const { return width_; }
  [[nodiscard]] size_t level(size_t shard) const { return levels_[shard]; }
  [[nodiscard]] const LevelRange& range(size_t shard) const { return ranges_[shard]; }
  [[nodiscard]] const Budget& budget() const { return budget_; }
  [[nodiscard]] size_t preloaded() const { return preloaded_; }  ///< shards in the prefix
  [[nodiscard]] uint64_t preloaded_bytes() const { return preloaded_bytes_; }
  [[nodiscard]] uint64_t streamed_bytes() const {
    return std::accumulate(streamed_bytes_.begin(), streamed_bytes_.end(), uint64_t{0});
  }
  [[nodiscard]] const ShardCosts& costs() const { return *costs_; }
  [[nodiscard]] const std::vector<uint32_t>& layers() const { return layers_; }
  /// Returns the shard at a flat position.
  [[nodiscard]] ShardId IdOf(size_t shard) const {
    return {layers_[shard / width_], static_cast<uint32_t>(shard % width_)};
  }
  [[nodiscard]] uint64_t BytesAt(size_t shard, size_t level) const;
  [[nodiscard]] double LoadAt(size_t shard, size_t level) const;

  /// Returns whether every budget holds, AIBs and memory. The plan then finishes by T.
  [[nodiscard]] bool Fits() const;
  /// Returns whether the bound on memory holds, whatever the time.
  [[nodiscard]] bool FitsMemory() const;
  /// Returns the smallest T that Fits() would accept with these bits and enough memory, in
  /// microseconds.
  [[nodiscard]] double SmallestTarget() const;

  /// Sets all shards to `level`, or as near as their ranges allow. Where memory is bounded and S
  /// leaves too little for staging, it preloads fewer shards. Returns Fits().
  bool SetUniform(size_t level);
  /// Sets each shard's level, within its range, and preloads as SetUniform does. Returns Fits().
  bool SetLevels(std::span<const size_t> levels);
  /// Sets one shard to a level not below its own, whether or not it fits.
  void Raise(size_t shard, size_t level);
  /// Raises one shard to a level, if its range allows that and the result Fits(); returns whether
  /// it did. Requires that it Fits() before.
  bool TryRaise(size_t shard, size_t level);

 private:
  /// Preloads, and computes budgets anew, after levels have changed; returns Fits().
  bool PreloadAndRecount();
  void Preload(size_t at_most);
  /// Preloads fewer layers until all fits, and returns whether it does: preloaded bytes are held
  /// for ever, staged ones for a while. Leaves the longest prefix that memory allows if none fits.
  bool PreloadFewer();
  void Recount(size_t first_layer, size_t last_layer);
  /// Counts anew what bits add to the time of these layers, and the budgets that follow from it.
  void RecountDecoding(size_t first_layer, size_t last_layer);
  [[nodiscard]] bool FitsTime() const;
  [[nodiscard]] std::optional<double> StagedLatency() const;
  void UpdateRoom();

  const ShardCosts* costs_;
  std::vector<uint32_t> layers_;
  uint32_t width_;
  Budget budget_;
  std::vector<LevelRange> ranges_;  ///< [n * m]
  std::vector<size_t> levels_;      ///< [n * m] in layer order
  size_t preloaded_ = 0;
  uint64_t preloaded_bytes_ = 0;
  std::vector<double> streamed_us_;       ///< [n] IO of a layer's shards that are not preloaded
  std::vector<uint64_t> streamed_bytes_;  ///< [n] with a cold start's parts
  std::vector<double> room_us_;           ///< [n] least AIB of this and all later layers
  std::vector<double> capacities_us_;     ///< [n] Capacities of budget_
};

/// Sets the highest uniform level that fits (uniform bits, STI 5.4.3) and returns it; nothing if
/// none fits.
std::optional<size_t> SetHighestUniform(Allocation* allocation);

/// Raises single shards level by level: all get their chance at the next level, in `order`, before
/// any goes further. The squared error of a weight falls from 0.137 at 2 bits to 0.053 at 3, 0.021
/// at 4, 0.008 at 5 and 0.003 at 6 (gobo codebook): the step from 2 to 3 bits is worth more than
/// all later ones together and costs a quarter of the step from 2 to 6, a thirtieth of the one
/// to 32. So many small steps beat a few large ones.
void RaiseByLevel(Allocation* allocation, std::span<const size_t> order);

/// Raises single shards as the paper prints it: each shard in `order` to the highest level that
/// fits.
void RaiseToHighest(Allocation* allocation, std::span<const size_t> order);

}  // namespace sti
