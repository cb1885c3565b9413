// How many bytes the pieces of a shard's parts take (spec/container.md, "Shard parts"): said once
// for those who write, read and check them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/checked.h"
#include "format/container_index.h"
#include "shard/view.h"

namespace sti {

inline constexpr size_t kBaseCountsBytes = 8;  // u32 outliers, u32 blocks

/// Returns the bytes of one plane of a shard of so many weights.
constexpr uint64_t PlaneBytes(uint64_t weights) {
  return RoundUp((weights + 7) / 8, kPlaneAlignment);
}

/// Offsets inside a base part; every term is bounded by the shard's weights (< 2^32).
struct BaseLayout {
  uint64_t starts;  ///< u32 [blocks + 1]
  uint64_t lows;    ///< u16 [count]
  uint64_t values;  ///< [count] in the source's type
  uint64_t planes;  ///< two bit planes
  uint64_t total;

  BaseLayout(uint64_t weights, uint64_t count, DataType type) {
    const uint64_t blocks = (weights + kOutlierBlock - 1) / kOutlierBlock;
    starts = kBaseCountsBytes;
    lows = starts + 4 * (blocks + 1);
    values = RoundUp(lows + 2 * count, 4);
    planes = RoundUp(values + BytesOf(type) * count, kPlaneAlignment);
    total = planes + 2 * PlaneBytes(weights);
  }
};

}  // namespace sti
