// Tells what each shard costs at each bitwidth: bytes from the container, T_io and the time of
// decoding from the device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "plan/device_model.h"
#include "types/shard_id.h"

namespace sti {

/// Returns kDamaged if the catalog contradicts itself: sizes, bitwidths, or more bits in fewer
/// bytes.
Status ValidateCatalog(const ShardCatalog& catalog);

/// Holds the costs by shard and level, a level being an index into bits(). Immutable.
class ShardCosts {
 public:
  /// Makes the table. Bitwidths whose T_io the profile does not tell are left out; kDamaged if none
  /// is left. The catalog must be valid.
  static Result<ShardCosts> Make(const ShardCatalog& catalog, const DeviceModel& device);

  /// Returns the costs where `held` shards are in memory already: their bits and fewer cost
  /// nothing, more bits cost the reading of the missing planes. Full fidelity shares no plane with
  /// fewer bits (spec/container.md, "Shard parts").
  [[nodiscard]] ShardCosts Holding(std::span<const ShardAtBits> held, uint32_t block_bytes,
                                   const DeviceModel& device) const;

  [[nodiscard]] const std::vector<uint32_t>& bits() const { return bits_; }  ///< ascending
  [[nodiscard]] size_t levels() const { return bits_.size(); }
  [[nodiscard]] std::optional<size_t> LevelOf(uint32_t bits) const;
  /// Returns the highest level of at most `bits`; the lowest level if there is none.
  [[nodiscard]] size_t LevelAtMost(uint32_t bits) const;

  [[nodiscard]] uint64_t bytes(ShardId id, size_t level) const { return bytes_[Index(id, level)]; }
  [[nodiscard]] double load_us(ShardId id, size_t level) const {
    return load_us_[Index(id, level)];
  }
  /// Returns what a shard of this level adds to the time of its layer; negative: less.
  [[nodiscard]] double decode_us(size_t level) const { return decode_us_[level]; }
  /// Returns the least that any level adds.
  [[nodiscard]] double least_decode_us() const {
    return *std::min_element(decode_us_.begin(), decode_us_.end());
  }
  /// Returns whether it depends on their bits how long shards take to compute with.
  [[nodiscard]] bool bits_take_time() const {
    return std::any_of(decode_us_.begin(), decode_us_.end(), [](double us) { return us != 0; });
  }

 private:
  [[nodiscard]] size_t Index(ShardId id, size_t level) const {
    return (size_t{id.layer} * width_ + id.slice) * bits_.size() + level;
  }

  uint32_t width_ = 0;
  std::vector<uint32_t> bits_;
  std::vector<uint64_t> bytes_;
  std::vector<double> load_us_;
  std::vector<double> decode_us_;  ///< [levels]
};

}  // namespace sti
