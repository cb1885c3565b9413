#include "kernels/shard_view.h"

#include <algorithm>

#include "base/little_endian.h"
#include "kernels/decode.h"
#include "kernels/load_value.h"
#include "types/plan.h"

namespace sti {
namespace {

constexpr uint64_t kOutlierBlock = 65536;  // weights

// Number of the first of outliers [begin, end) whose low part is at least `low`.
uint32_t LowerBound(const uint8_t* lows, uint32_t begin, uint32_t end, uint64_t low) {
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

// Overwrites the outliers among weights [first, first + count).
void PatchOutliers(const OutlierView& outliers, DataType type, uint64_t first, uint64_t count,
                   float* out) {
  const uint64_t end = first + count;
  for (uint64_t block = first / kOutlierBlock; block * kOutlierBlock < end; ++block) {
    if (block >= outliers.blocks) return;
    const uint64_t start = block * kOutlierBlock;
    const auto stop = LoadLittle<uint32_t>(outliers.block_starts + 4 * (block + 1));
    uint32_t i = LoadLittle<uint32_t>(outliers.block_starts + 4 * block);
    if (first > start) i = LowerBound(outliers.lows, i, stop, first - start);
    for (; i < stop; ++i) {
      const uint64_t position = start + LoadLittle<uint16_t>(outliers.lows + 2 * uint64_t{i});
      if (position >= end) return;
      out[position - first] = LoadValue(type, outliers.values + uint64_t{i} * BytesOf(type));
    }
  }
}

}  // namespace

std::array<ShardMatrix, kShardMatrices> ShardMatrices(const ModelShape& shape) {
  const uint32_t head = shape.head_dim();
  const uint32_t ffn = shape.slice_ffn();
  std::array<ShardMatrix, kShardMatrices> matrices = {{{head, shape.hidden, 0},
                                                       {head, shape.hidden, 0},
                                                       {head, shape.hidden, 0},
                                                       {shape.hidden, head, 0},
                                                       {ffn, shape.hidden, 0},
                                                       {shape.hidden, ffn, 0}}};
  uint64_t first = 0;
  for (ShardMatrix& matrix : matrices) {
    matrix.first = first;
    first += uint64_t{matrix.outs} * matrix.ins;
  }
  return matrices;
}

void DecodeWeights(const ShardView& shard, uint64_t first, uint64_t count, float* out) {
  if (count == 0) return;
  if (shard.bits == kFullBits) {
    WidenWeights(shard.full + first * BytesOf(shard.type), shard.type, count, out);
    return;
  }
  DecodePlanes(shard.planes, shard.bits, shard.centroids, first, count, out);
  if (shard.outliers.count != 0) PatchOutliers(shard.outliers, shard.type, first, count, out);
}

}  // namespace sti
