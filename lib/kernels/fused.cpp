#include "kernels/fused.h"

#include <algorithm>
#include <cstring>

#include "kernels/fused_targets.h"
#include "kernels/outliers.h"
#include "kernels/packed_targets.h"
#include "types/plan.h"

namespace sti {

bool CanFuseHere() { return HasByteLookups(); }

bool CanFuse(const ShardView& shard, const PanelStretch& stretch) {
  return HasByteLookups() && shard.bits != kFullBits && stretch.width() == kPanelWidth &&
         stretch.ins % 4 == 0 && stretch.first() % 8 == 0;
}

void InterleaveRows(const float* in, size_t stride, uint32_t rows, uint32_t ins, float* out) {
  if (rows < kFusedRows) std::memset(out, 0, size_t{ins} * kFusedRows * sizeof(float));
  constexpr uint32_t kBlock = 64;  // inputs whose cache lines stay while all rows write to them
  for (uint32_t begin = 0; begin < ins; begin += kBlock) {
    const uint32_t end = std::min(ins, begin + kBlock);
    for (uint32_t r = 0; r < rows; ++r) {
      const float* row = in + r * stride;
      for (uint32_t k = begin; k < end; ++k) out[size_t{k} * kFusedRows + r] = row[k];
    }
  }
}

void MultiplyDecoding(const FusedProduct& product) {
  const PanelStretch& stretch = product.stretch;
  std::memset(product.overlay.masks, 0, stretch.ins * sizeof(uint16_t));
  ForEachOutlier(product.shard, stretch.first(), uint64_t{stretch.ins} * kPanelWidth,
                 [&](uint64_t at, float weight) {
                   product.overlay.values[at] = weight;
                   product.overlay.masks[at / kPanelWidth] |=
                       static_cast<uint16_t>(1U << at % kPanelWidth);
                 });
  MultiplyDecodingAvx512(product);
}

}  // namespace sti
