#include "measure/layer_reads.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/checked.h"

namespace sti {
namespace {

void Append(uint64_t offset, uint64_t length, uint32_t read_bytes, LayerReads* reads) {
  for (uint64_t done = 0; done < length;) {
    const uint64_t piece = std::min<uint64_t>(length - done, read_bytes);
    StagedRead read;
    read.offset = offset + done;
    read.length = piece;
    read.place = reads->bytes;
    reads->reads.push_back(read);
    reads->bytes += piece;
    done += piece;
  }
}

}  // namespace

Result<LayerReads> ReadsAtBits(const ContainerIndex& index, uint32_t layer, uint32_t bits,
                               uint32_t read_bytes) {
  LayerReads reads;
  for (uint32_t slice = 0; slice < index.info.shape.width; ++slice) {
    const ShardRequest request{layer, slice, bits, 0};
    STI_ASSIGN_OR_RETURN(const LoadSchedule schedule, BuildLoadSchedule(index, {&request, 1}));
    for (const StagedRead& read : schedule.reads)
      Append(read.offset, read.length, read_bytes, &reads);
  }
  return reads;
}

LayerReads ReadsOfPlane(const ContainerIndex& index, uint32_t layer, uint32_t bits,
                        uint32_t read_bytes) {
  LayerReads reads;
  for (uint32_t slice = 0; slice < index.info.shape.width; ++slice) {
    const PartLocation& part = index.shard(layer, slice).parts[ShardPartIndex(bits)];
    if (part.length == 0) continue;
    const uint64_t begin = RoundDown(part.offset, kBlockBytes);
    const uint64_t end = RoundUp(part.offset + part.length, kBlockBytes);
    Append(begin, end - begin, read_bytes, &reads);
  }
  return reads;
}

}  // namespace sti
