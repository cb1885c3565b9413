#include "cold_bytes.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "format/container_header.h"

namespace sti {
namespace {

// Header and index come with the first read; a larger index is read once its size is known.
constexpr uint64_t kFirstReadBytes = 64 << 10;

uint64_t IndexBytes(const ContainerFile& file) {
  const uint64_t end = RoundUp(kContainerHeaderBytes + file.index_bytes(), kBlockBytes);
  return end <= kFirstReadBytes ? kFirstReadBytes : kFirstReadBytes + end;
}

uint64_t BlockBytes(const PartLocation& part) {
  return RoundUp(part.offset + part.length, kBlockBytes) - RoundDown(part.offset, kBlockBytes);
}

}  // namespace

ColdBytes ColdBytesOf(const ContainerFile& file) {
  ColdBytes bytes;
  bytes.index = IndexBytes(file);
  bytes.layers.resize(file.index().info.shape.layers);
  for (const ResidentLocation& resident : file.index().resident) {
    const uint64_t part = resident.part.length == 0 ? 0 : BlockBytes(resident.part);
    if (IsText(resident.kind)) {
      bytes.vocabulary += part;
    } else if (resident.kind == ResidentKind::kEmbedding) {
      bytes.embedding += part;
    } else if (resident.kind == ResidentKind::kLayer) {
      bytes.layers[resident.layer] += part;
    } else {
      bytes.head += part;
    }
  }
  return bytes;
}

}  // namespace sti
