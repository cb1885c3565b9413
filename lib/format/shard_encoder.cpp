// The writing half of shard_codec.h, in a file of its own: what runs a plan does not link it.
#include "base/little_endian.h"
#include "format/shard_codec.h"
#include "format/shard_layout.h"

namespace sti {
namespace {

void WritePlane(std::span<const uint8_t> codes, uint32_t bit, uint8_t* out) {
  for (size_t i = 0; i < codes.size(); ++i) {
    out[i / 8] = static_cast<uint8_t>(out[i / 8] | ((codes[i] >> bit & 1U) << (i % 8)));
  }
}

}  // namespace

std::vector<uint8_t> EncodeShardBase(std::span<const uint8_t> codes,
                                     std::span<const ShardOutlier> outliers, DataType type) {
  BaseLayout layout(codes.size(), outliers.size(), type);
  std::vector<uint8_t> part(layout.total, 0);
  auto blocks = static_cast<uint32_t>((codes.size() + kOutlierBlock - 1) / kOutlierBlock);
  StoreLittle<uint32_t>(&part[0], static_cast<uint32_t>(outliers.size()));
  StoreLittle<uint32_t>(&part[4], blocks);
  uint32_t next = 0;
  for (uint32_t block = 0; block <= blocks; ++block) {
    while (next < outliers.size() && outliers[next].position / kOutlierBlock < block) ++next;
    StoreLittle<uint32_t>(&part[layout.starts + 4 * block], next);
  }
  for (size_t i = 0; i < outliers.size(); ++i) {
    StoreLittle<uint16_t>(&part[layout.lows + 2 * i],
                          static_cast<uint16_t>(outliers[i].position % kOutlierBlock));
    uint8_t* value = &part[layout.values + BytesOf(type) * i];
    if (type == DataType::kF32) {
      StoreLittle<uint32_t>(value, outliers[i].raw);
    } else {
      StoreLittle<uint16_t>(value, static_cast<uint16_t>(outliers[i].raw));
    }
  }
  WritePlane(codes, 5, &part[layout.planes]);
  WritePlane(codes, 4, &part[layout.planes + PlaneBytes(codes.size())]);
  return part;
}

std::vector<uint8_t> EncodeShardPlane(std::span<const uint8_t> codes, uint32_t bits) {
  std::vector<uint8_t> part(PlaneBytes(codes.size()), 0);
  WritePlane(codes, kMostBits - bits, part.data());
  return part;
}

}  // namespace sti
