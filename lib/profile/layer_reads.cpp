#include "profile/layer_reads.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/checked.h"

namespace sti {
namespace {

void Append(uint64_t offset, uint64_t length, LayerReads* reads) {
  ScheduledRead read;
  read.offset = offset;
  read.length = length;
  read.place = reads->bytes;
  reads->reads.push_back(read);
  reads->bytes += length;
}

}  // namespace

Result<LayerReads> ReadsAtBits(const ContainerIndex& index, uint32_t layer, uint32_t bits,
                               uint32_t read_bytes) {
  LayerReads reads;
  ScheduleLimits limits;
  limits.read_bytes = read_bytes;
  for (uint32_t slice = 0; slice < index.info.shape.width; ++slice) {
    const ShardRequest request{{layer, slice}, bits, 0};
    STI_ASSIGN_OR_RETURN(const LoadSchedule schedule,
                         BuildLoadSchedule(index, {&request, 1}, limits));
    for (const ScheduledRead& read : schedule.reads) Append(read.offset, read.length, &reads);
  }
  return reads;
}

Result<std::vector<LayerReads>> ReadsOfLayersAtBits(const ContainerIndex& index, uint32_t bits,
                                                    uint32_t read_bytes) {
  std::vector<LayerReads> layers(index.info.shape.layers);
  for (uint32_t layer = 0; layer < layers.size(); ++layer) {
    STI_ASSIGN_OR_RETURN(layers[layer], ReadsAtBits(index, layer, bits, read_bytes));
  }
  return layers;
}

uint64_t LargestLayer(std::span<const LayerReads> layers) {
  uint64_t largest = 0;
  for (const LayerReads& layer : layers) largest = std::max(largest, layer.bytes);
  return largest;
}

LayerReads ReadsOfPlane(const ContainerIndex& index, uint32_t layer, uint32_t bits) {
  LayerReads reads;
  for (uint32_t slice = 0; slice < index.info.shape.width; ++slice) {
    const PartLocation& part = index.shard({layer, slice}).parts[PartAt(bits)];
    if (part.length == 0) continue;
    const BlockRange blocks = BlocksAround(part);
    Append(blocks.begin, blocks.bytes(), &reads);
  }
  return reads;
}

}  // namespace sti
