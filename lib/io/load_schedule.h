// Which blocks to read for a list of shards, in which order, and where in a staging arena they
// land.
//
// Adjacent parts merge into one read. The arena is a ring in load order: a read may start once the
// groups (layers) whose bytes it overwrites are computed, so read-ahead is bounded by the arena and
// a shard is freed after its layer (STI 5.5). All of it is known before the first byte is read.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/container_index.h"
#include "kernels/shard_view.h"

namespace sti {

struct ShardRequest {
  uint32_t layer = 0;
  uint32_t slice = 0;
  uint32_t bits = 0;
  uint32_t group = 0;  ///< position of the layer in the submodel; ascending over a list
};

struct StagedPart {
  PartLocation part;
  uint64_t place = 0;    ///< of its first byte in the arena
  uint32_t request = 0;  ///< index of the shard it belongs to
  uint32_t kind = 0;     ///< ShardPartIndex
};

struct StagedRead {
  uint64_t offset = 0;  ///< multiples of kBlockBytes, as are length and place
  uint64_t length = 0;
  uint64_t place = 0;
  uint32_t group = 0;
  uint32_t after = 0;  ///< groups that must be computed before this read may start
  uint32_t first_part = 0;
  uint32_t parts = 0;  ///< wholly inside this read
};

/// Immutable once built; safe to share.
struct LoadSchedule {
  std::vector<ShardRequest> requests;
  std::vector<StagedRead> reads;  ///< in order of need
  std::vector<StagedPart> parts;
  std::vector<std::array<int64_t, kShardPartKinds>> places;  ///< [requests] index into parts, or -1
  uint64_t arena_bytes = 0;
  uint64_t read_bytes = 0;  ///< all reads, padding included
};

/// `requests` by ascending group, bits offered by the index. At most `arena_limit` bytes of arena
/// (0: as much as lets every read start at once); InfeasibleError if one layer needs more.
Result<LoadSchedule> BuildLoadSchedule(const ContainerIndex& index,
                                       std::span<const ShardRequest> requests,
                                       uint64_t arena_limit = 0);

/// Checks the checksums of the parts inside `read`, whose blocks are in `arena`.
Status CheckStagedRead(const LoadSchedule& schedule, const StagedRead& read,
                       std::span<const uint8_t> arena, const std::string& file);

/// The shard of `requests[request]`, its reads complete and checked.
Result<ShardView> ViewStagedShard(const ContainerIndex& index, const LoadSchedule& schedule,
                                  size_t request, std::span<const uint8_t> arena,
                                  const std::string& file);

}  // namespace sti
