#include "kernels/fp32/fused.h"

#include <cstring>

#include "kernels/fp32/outliers.h"
#include "kernels/lowp/targets.h"
#include "types/bits.h"

namespace sti {

bool CanFuseHere() { return HasByteLookups(); }

bool CanFuse(const ShardView& shard, const PanelStretch& stretch) {
  return HasByteLookups() && shard.bits != kFullBits && stretch.width() == kPanelWidth &&
         stretch.ins % 4 == 0 && stretch.first() % 8 == 0;
}

void InterleaveRows(const float* in, size_t stride, uint32_t rows, uint32_t ins, float* out) {
  const uint32_t whole = HasByteLookups() ? ins / 4 * 4 : 0;
  if (whole > 0) InterleaveRowsAvx512(in, stride, rows, whole, out);
  for (uint32_t k = whole; k < ins; ++k) {
    float* numbers = out + size_t{k} * kFusedRows;
    for (uint32_t r = 0; r < kFusedRows; ++r) numbers[r] = r < rows ? in[r * stride + k] : 0;
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
