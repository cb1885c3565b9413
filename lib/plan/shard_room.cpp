#include "plan/shard_room.h"

#include <algorithm>
#include <limits>

namespace sti {
namespace {

constexpr uint64_t kUnknownProcessBytes = uint64_t{8} << 20;

}  // namespace

uint64_t AddSaturated(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max()
                                                      : a + b;
}

uint64_t BytesBeforeShards(const MemoryBeforeShards& memory, const PlanExtent& extent) {
  const uint64_t process = memory.process.value_or(kUnknownProcessBytes);
  const uint64_t working = memory.working ? memory.working(extent) : 0;
  return AddSaturated(AddSaturated(process, memory.resident), working);
}

uint64_t FallbackRowBytes(const MemoryBeforeShards& memory, uint32_t tokens) {
  return memory.fallback_rows ? memory.fallback_rows(tokens) : 0;
}

std::optional<uint64_t> ShardMemory(const MemoryBeforeShards& memory, const Judging& judging,
                                    const PlanExtent& extent) {
  if (!judging.memory_bytes) return std::nullopt;
  const uint64_t base = BytesBeforeShards(memory, extent);
  return *judging.memory_bytes > base ? *judging.memory_bytes - base : 0;
}

}  // namespace sti
