// The layout of a shard's parts (spec/container.md, "Shard parts") in bytes, said once for those
// who write, read and check them. A part at 3 to 6 bits is one bit plane. The base part, at 2 bits,
// has two planes behind the outliers: their number, where those of each block of weights begin, and
// their places and values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/checked.h"
#include "format/container_index.h"
#include "shard/view.h"

namespace sti {

inline constexpr size_t kBaseCountsBytes = 8;  // u32 outliers, u32 blocks

/// Returns the bytes of one bit plane of a shard of `weights` weights, padding included.
constexpr uint64_t PlaneBytes(uint64_t weights) {
  return RoundUp((weights + 7) / 8, kPlaneAlignment);
}

/// Offsets in bytes inside the base part of a shard of `weights` < 2^32 weights, `outliers` of
/// which are kept in `type`, the source's. A block is kOutlierBlock weights, so a place in it is 16
/// bits.
struct BaseLayout {
  uint64_t starts;  ///< u32 [blocks + 1]: index of each block's first outlier, then their number
  uint64_t lows;    ///< u16 [outliers]: place of each in its block
  uint64_t values;  ///< [outliers] in `type`
  uint64_t planes;  ///< the two bit planes, the most significant first
  uint64_t total;   ///< length of the part

  BaseLayout(uint64_t weights, uint64_t outliers, DataType type) {
    const uint64_t blocks = (weights + kOutlierBlock - 1) / kOutlierBlock;
    starts = kBaseCountsBytes;
    lows = starts + 4 * (blocks + 1);
    values = RoundUp(lows + 2 * outliers, 4);
    planes = RoundUp(values + BytesOf(type) * outliers, kPlaneAlignment);
    total = planes + 2 * PlaneBytes(weights);
  }
};

}  // namespace sti
