#include "format/shard_codec.h"

#include <algorithm>

#include "base/little_endian.h"
#include "base/remedy.h"
#include "format/shard_layout.h"
#include "network/tensors.h"
#include "types/bits.h"
#include "types/finite.h"

namespace sti {
namespace {

// Block starts ascend from 0 to count, positions ascend within a block and lie inside the shard.
bool OutliersAreSound(const OutlierView& view, uint64_t weights) {
  uint32_t begin = LoadLittle<uint32_t>(view.block_starts);
  if (begin != 0) return false;
  for (uint32_t block = 0; block < view.blocks; ++block) {
    auto end = LoadLittle<uint32_t>(view.block_starts + 4 * (size_t{block} + 1));
    if (end < begin || end > view.count) return false;
    uint64_t limit = std::min<uint64_t>(kOutlierBlock, weights - uint64_t{block} * kOutlierBlock);
    int64_t last = -1;
    for (; begin < end; ++begin) {
      auto low = LoadLittle<uint16_t>(view.lows + 2 * size_t{begin});
      if (low <= last || low >= limit) return false;
      last = low;
    }
  }
  return begin == view.count;
}

}  // namespace

Result<ShardView> ViewShard(const ModelInfo& info, const Codebook& codebook, uint32_t bits,
                            const PerPart<std::span<const uint8_t>>& parts,
                            const std::string& name) {
  ShardView view;
  view.bits = bits;
  view.type = info.data_type;
  if (bits == kFullBits) {
    view.full = parts[PartKind::kFull].data();
    return view;
  }
  uint64_t weights = ShardWeights(info.shape);
  std::span<const uint8_t> base = parts[PartKind::kBase];
  auto bad = [&] {
    return DataError("outliers are damaged").At(name).Fix(Remedy::kMakeModelAgain);
  };
  if (base.size() < kBaseCountsBytes) return bad();
  view.outliers.count = LoadLittle<uint32_t>(&base[0]);
  view.outliers.blocks = LoadLittle<uint32_t>(&base[4]);
  const BaseLayout layout(weights, view.outliers.count, info.data_type);
  if (view.outliers.count > weights || layout.total != base.size() ||
      view.outliers.blocks != (weights + kOutlierBlock - 1) / kOutlierBlock) {
    return bad();
  }
  view.outliers.block_starts = &base[layout.starts];
  view.outliers.lows = &base[layout.lows];
  view.outliers.values = &base[layout.values];
  if (!OutliersAreSound(view.outliers, weights)) return bad();
  const uint64_t value_bytes = uint64_t{view.outliers.count} * BytesOf(info.data_type);
  if (!AllFinite(info.data_type, base.subspan(layout.values, value_bytes))) {
    return DataError("an outlier is not a finite number").At(name).Fix(Remedy::kMakeModelAgain);
  }
  view.planes[0] = &base[layout.planes];
  view.planes[1] = view.planes[0] + PlaneBytes(weights);
  for (uint32_t plane = 3; plane <= bits; ++plane) {
    view.planes[plane - 1] = parts[PartAt(plane)].data();
  }
  view.centroids = codebook.centroids[bits].data();
  if (!codebook.scales.empty()) view.scales = codebook.scales.data();
  return view;
}

Status CheckOutlierCodes(const ShardView& shard, const std::string& name) {
  uint32_t codes = 0;
  ForEachOutlierPosition(shard.outliers, [&](uint64_t at) {
    for (uint32_t plane = 0; plane < shard.bits; ++plane) {
      codes |= shard.planes[plane][at / 8] >> at % 8 & 1U;
    }
  });
  if (codes == 0) return {};
  return DataError("an outlier's code is not 0").At(name).Fix(Remedy::kMakeModelAgain);
}

}  // namespace sti
