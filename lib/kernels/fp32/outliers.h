// Walks the outliers of a part of a shard.
#pragma once

#include <cstdint>

#include "base/little_endian.h"
#include "kernels/decode.h"
#include "shard/view.h"

namespace sti {

/// Returns the number of the first of outliers [begin, end) whose low part is at least `low`. Where
/// to go on is no branch: nobody could foresee it.
inline uint32_t FirstOutlierFrom(const uint8_t* lows, uint32_t begin, uint32_t end, uint64_t low) {
  uint32_t left = end - begin;
  while (left > 0) {
    const uint32_t half = (left + 1) / 2;
    const bool below = LoadLittle<uint16_t>(lows + 2 * uint64_t{begin + half - 1}) < low;
    begin += below ? half : 0;
    left -= half;
  }
  return begin;
}

/// Returns the first such outlier among [begin, end), all outliers of one block. They lie about
/// evenly, so it looks first where the weight should be: the rest of the list is not in the cache
/// yet.
inline uint32_t FirstOutlierOfBlock(const uint8_t* lows, uint32_t begin, uint32_t end,
                                    uint64_t low) {
  constexpr uint32_t kMiss = 24;  // outliers; few of four hundred are further off
  const auto guess = static_cast<uint32_t>(begin + (end - begin) * low / kOutlierBlock);
  const uint32_t from = guess - begin > kMiss ? guess - kMiss : begin;
  const uint32_t to = end - guess > kMiss ? guess + kMiss : end;
  const auto low_at = [&](uint32_t i) { return LoadLittle<uint16_t>(lows + 2 * uint64_t{i}); };
  if (from > begin && low_at(from - 1) >= low) return FirstOutlierFrom(lows, begin, from, low);
  if (to < end && low_at(to - 1) < low) return FirstOutlierFrom(lows, to, end, low);
  return FirstOutlierFrom(lows, from, to, low);
}

inline constexpr uint32_t kOutlierChunk = 128;  // values widened at once

/// Calls visit(offset, lows, values, count) for the outliers among weights [first, first + count),
/// chunk by chunk: outlier i of a chunk is `values[i]` at offset + its low part, counted from
/// `first`.
template <typename Visit>
void ForEachOutlierChunk(const ShardView& shard, uint64_t first, uint64_t count,
                         const Visit& visit) {
  const OutlierView& outliers = shard.outliers;
  if (outliers.count == 0) return;
  const uint64_t end = first + count;
  for (uint64_t block = first / kOutlierBlock; block * kOutlierBlock < end; ++block) {
    if (block >= outliers.blocks) return;
    const uint64_t start = block * kOutlierBlock;
    auto stop = LoadLittle<uint32_t>(outliers.block_starts + 4 * (block + 1));
    auto i = LoadLittle<uint32_t>(outliers.block_starts + 4 * block);
    const uint32_t begin = i;
    if (first > start) i = FirstOutlierOfBlock(outliers.lows, begin, stop, first - start);
    if (end - start < kOutlierBlock) {
      stop = FirstOutlierOfBlock(outliers.lows, begin, stop, end - start);
    }
    // The next panel's; other shards' come first.
    __builtin_prefetch(outliers.lows + 2 * uint64_t{stop} + 63);
    __builtin_prefetch(outliers.values + BytesOf(shard.type) * stop + 63);
    for (; i < stop; i += kOutlierChunk) {
      float values[kOutlierChunk];
      const uint32_t chunk = stop - i < kOutlierChunk ? stop - i : kOutlierChunk;
      WidenWeights(outliers.values + uint64_t{i} * BytesOf(shard.type), shard.type, chunk, values);
      visit(static_cast<int64_t>(start) - static_cast<int64_t>(first),
            outliers.lows + 2 * uint64_t{i}, values, chunk);
    }
  }
}

/// Calls visit(position - first, value) for each outlier among weights [first, first + count).
template <typename Visit>
void ForEachOutlier(const ShardView& shard, uint64_t first, uint64_t count, const Visit& visit) {
  ForEachOutlierChunk(
      shard, first, count,
      [&](int64_t offset, const uint8_t* lows, const float* values, uint32_t chunk) {
        for (uint32_t i = 0; i < chunk; ++i) {
          const int64_t at = offset + LoadLittle<uint16_t>(lows + 2 * uint64_t{i});
          visit(static_cast<uint64_t>(at), values[i]);
        }
      });
}

}  // namespace sti
