#include "kernels/decode_shard.h"

#include <algorithm>

#include "kernels/decode.h"
#include "kernels/fp32/outliers.h"
#include "network/tensors.h"
#include "types/bits.h"

namespace sti {
namespace {

constexpr uint64_t kOverrun = 64;  // weights that decoding may write past its end

void PatchOutliers(const ShardView& shard, uint64_t first, uint64_t count, float* out) {
  ForEachOutlier(shard, first, count, [out](uint64_t at, float weight) { out[at] = weight; });
}

// For panels narrower than vectors are made for. They are few: the last of a matrix at most.
void ScaleNarrow(const float* scales, bool by_output, uint32_t ins, uint32_t width, float* out) {
  for (uint32_t in = 0; in < ins; ++in) {
    for (uint32_t o = 0; o < width; ++o) out[in * width + o] *= scales[by_output ? o : in];
  }
}

}  // namespace

void DecodePanel(const ShardView& shard, const PanelStretch& stretch, float* out) {
  const uint32_t width = stretch.width();
  const uint64_t first = stretch.first();
  const uint64_t count = uint64_t{stretch.ins} * width;
  if (count == 0 || shard.bits == kFullBits || shard.scales == nullptr) {
    DecodeWeights(shard, first, count, out);
    return;
  }
  const bool by_output = stretch.matrix.scaled_by_output;
  const float* scales =
      shard.scales + stretch.matrix.scales + (by_output ? stretch.out : stretch.in);
  if (width == kPanelWidth) {
    const Scaling scaling = by_output ? Scaling::kColumns : Scaling::kRows;
    DecodePlanes({shard.planes, shard.bits, shard.centroids, scaling, scales}, first, count, out);
  } else {
    DecodePlanes({shard.planes, shard.bits, shard.centroids}, first, count, out);
    ScaleNarrow(scales, by_output, stretch.ins, width, out);
  }
  PatchOutliers(shard, first, count, out);
}

std::vector<float> DecodeShard(const ShardView& shard, const ModelShape& shape) {
  std::vector<float> weights(ShardWeights(shape) + kOverrun);
  for (const ShardMatrix& matrix : ShardMatrices(shape)) {
    for (uint32_t panel = 0; panel < matrix.outs; panel += kPanelWidth) {
      const PanelStretch stretch{matrix, panel, 0, matrix.ins};
      // Weights that are written past the panel's end are written again by the next panel.
      DecodePanel(shard, stretch, &weights[stretch.first()]);
    }
  }
  weights.resize(ShardWeights(shape));
  return weights;
}

void DecodeWeights(const ShardView& shard, uint64_t first, uint64_t count, float* out) {
  if (count == 0) return;
  if (shard.bits == kFullBits) {
    WidenWeights(shard.full + first * BytesOf(shard.type), shard.type, count, out);
    return;
  }
  DecodePlanes({shard.planes, shard.bits, shard.centroids}, first, count, out);
  PatchOutliers(shard, first, count, out);
}

}  // namespace sti
