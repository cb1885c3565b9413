#include "types/shard_id.h"

#include <algorithm>

namespace sti {

std::optional<uint64_t> ShardCatalog::BytesOf(const ShardAtBits& shard) const {
  const auto [layer, slice] = shard.id;
  const auto level = std::find(bits.begin(), bits.end(), shard.bits);
  if (level == bits.end() || layer >= layers || slice >= width) return std::nullopt;
  const size_t row = size_t{layer} * width + slice;
  return read_bytes[row * bits.size() + static_cast<size_t>(level - bits.begin())];
}

uint64_t ShardCatalog::BytesOfAll(std::span<const ShardAtBits> shards) const {
  uint64_t bytes = 0;
  for (const ShardAtBits& shard : shards) bytes += BytesOf(shard).value_or(0);
  return bytes;
}

}  // namespace sti
