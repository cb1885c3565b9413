// Walks the outliers of a part of a shard.
#pragma once

#include <cstdint>

#include "base/little_endian.h"
#include "kernels/decode.h"
#include "kernels/shard_view.h"

namespace sti {

inline constexpr uint64_t kOutlierBlock = 65536;  // weights

/// Number of the first of outliers [begin, end) whose low part is at least `low`.
inline uint32_t FirstOutlierFrom(const uint8_t* lows, uint32_t begin, uint32_t end, uint64_t low) {
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2;
    if (LoadLittle<uint16_t>(lows + 2 * uint64_t{middle}) < low) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

/// visit(position - first, value) for each outlier among weights [first, first + count).
template <typename Visit>
void ForEachOutlier(const ShardView& shard, uint64_t first, uint64_t count, const Visit& visit) {
  const OutlierView& outliers = shard.outliers;
  if (outliers.count == 0) return;
  constexpr uint32_t kChunk = 32;  // values widened at once
  const uint64_t end = first + count;
  for (uint64_t block = first / kOutlierBlock; block * kOutlierBlock < end; ++block) {
    if (block >= outliers.blocks) return;
    const uint64_t start = block * kOutlierBlock;
    const auto stop = LoadLittle<uint32_t>(outliers.block_starts + 4 * (block + 1));
    uint32_t i = LoadLittle<uint32_t>(outliers.block_starts + 4 * block);
    if (first > start) i = FirstOutlierFrom(outliers.lows, i, stop, first - start);
    for (; i < stop; i += kChunk) {
      float values[kChunk];
      const uint32_t chunk = stop - i < kChunk ? stop - i : kChunk;
      WidenWeights(outliers.values + uint64_t{i} * BytesOf(shard.type), shard.type, chunk, values);
      for (uint32_t j = 0; j < chunk; ++j) {
        const uint64_t at = start + LoadLittle<uint16_t>(outliers.lows + 2 * uint64_t{i + j});
        if (at >= end) return;
        visit(at - first, values[j]);
      }
    }
  }
}

}  // namespace sti
