#include "format/container_sizes.h"

#include "format/shard_layout.h"
#include "network/tensors.h"
#include "types/bits.h"

namespace sti {
namespace {

constexpr uint64_t kCentroidBytes = sizeof(float);
constexpr uint64_t kScaleBytes = 2;  // bfloat16

void AddShard(const ShardLocation& shard, uint64_t plane_bytes, ContainerSizes& sizes) {
  const PartLocation& base = shard.parts[PartKind::kBase];
  if (base.length != 0) {
    sizes.outliers += base.length - 2 * plane_bytes;
    sizes.top_planes += 2 * plane_bytes;
  }
  for (uint32_t bits = kLeastBits + 1; bits <= kMostBits; ++bits) {
    sizes.planes[bits - kLeastBits - 1] += shard.parts[PartAt(bits)].length;
  }
  sizes.full += shard.parts[PartKind::kFull].length;
}

// Codes of k bits for each weight, and the outliers and 2^k centroids a layer once a version.
uint64_t SeparateBytes(const ContainerIndex& index, const ContainerSizes& sizes) {
  uint64_t bytes = 0;
  for (uint32_t bits : index.bits) {
    if (bits > kMostBits) continue;
    bytes += (sizes.weights * bits + 7) / 8 + sizes.outliers;
    bytes += (kCentroidBytes << bits) * index.info.shape.layers;
  }
  return bytes;
}

}  // namespace

ContainerSizes SizesOf(const ContainerIndex& index, uint64_t file_bytes) {
  ContainerSizes sizes;
  sizes.file = file_bytes;
  const uint64_t plane_bytes = PlaneBytes(ShardWeights(index.info.shape));
  sizes.weights = ShardWeights(index.info.shape) * index.shards.size();
  for (const ShardLocation& shard : index.shards) AddShard(shard, plane_bytes, sizes);
  for (const Codebook& codebook : index.centroids) {
    for (const auto& centroids : codebook.centroids) {
      sizes.codebooks += centroids.size() * kCentroidBytes;
    }
    sizes.codebooks += codebook.scales.size() * kScaleBytes;
  }
  for (const ResidentLocation& part : index.resident) {
    uint64_t& of_its_kind = !IsText(part.kind)                   ? sizes.resident
                            : part.kind == ResidentKind::kMerges ? sizes.merges
                                                                 : sizes.vocabulary;
    of_its_kind += part.part.length;
  }
  sizes.word_rows = uint64_t{index.words.rows} * index.words.row_bytes;
  sizes.position_rows = uint64_t{index.positions.rows} * index.positions.row_bytes;
  uint64_t counted = sizes.outliers + sizes.top_planes + sizes.full + sizes.resident +
                     sizes.vocabulary + sizes.merges + sizes.word_rows + sizes.position_rows +
                     sizes.codebooks;
  for (uint64_t plane : sizes.planes) counted += plane;
  sizes.rest = file_bytes - counted;
  sizes.progressive = ProgressiveBytes(index);
  sizes.separate = SeparateBytes(index, sizes);
  return sizes;
}

}  // namespace sti
