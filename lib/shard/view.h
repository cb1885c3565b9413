// One shard in memory, after its parts were read and checked: pointers into what was read, no
// copies.
#pragma once

#include <array>
#include <cstdint>

#include "base/little_endian.h"
#include "types/model_info.h"

namespace sti {

/// Outliers are listed by blocks of so many weights, so that 16 bits tell their place in a block.
inline constexpr uint64_t kOutlierBlock = 65536;

/// Exactly kept weights of a shard, by ascending stream index. Positions are split into blocks of
/// 65,536 weights: block b's outliers are [block_starts[b], block_starts[b + 1]) of `lows`.
struct OutlierView {
  uint32_t count = 0;
  uint32_t blocks = 0;
  const uint8_t* block_starts = nullptr;  ///< u32 little endian [blocks + 1], 4-byte aligned
  const uint8_t* lows = nullptr;          ///< u16 little endian [count]: stream index mod 65,536
  const uint8_t* values = nullptr;        ///< [count] in `type`
};

/// One loaded shard. Not owning; what it points to outlives its use. Validated by whoever fills it:
/// counts fit the shard, positions ascend.
struct ShardView {
  uint32_t bits = 0;               ///< 2..6, or kFullBits
  DataType type = DataType::kF32;  ///< element type of outliers and of full-fidelity weights
  /// Bit planes, most significant first; plane p holds bit (bits - 1 - p) of each code: weight i at
  /// bit (i mod 8) of byte i / 8. Readable to the next multiple of 64 bytes. 64-byte aligned.
  std::array<const uint8_t*, 6> planes{};
  const float* centroids = nullptr;  ///< [1 << bits]
  /// [6, hidden], a scale for each hidden channel of each matrix, which centroids are multiplied
  /// by; null if the codebook has none. Outliers and full-fidelity weights are not scaled.
  const float* scales = nullptr;
  OutlierView outliers;
  const uint8_t* full = nullptr;  ///< [weights] in `type`, weight order; for kFullBits
};

/// Calls visit(stream index) for each outlier, in order.
template <typename Visit>
void ForEachOutlierPosition(const OutlierView& outliers, const Visit& visit) {
  for (uint32_t block = 0; block < outliers.blocks; ++block) {
    const auto begin = LoadLittle<uint32_t>(outliers.block_starts + 4 * uint64_t{block});
    const auto end = LoadLittle<uint32_t>(outliers.block_starts + 4 * (uint64_t{block} + 1));
    for (uint32_t i = begin; i < end; ++i)
      visit(block * kOutlierBlock + LoadLittle<uint16_t>(outliers.lows + 2 * uint64_t{i}));
  }
}

}  // namespace sti
