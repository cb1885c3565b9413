#include "plan/memory.h"

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

uint64_t BytesBeforeShards(const MemoryBeforeShards& memory, uint32_t length, uint32_t width) {
  const uint64_t process = memory.process.value_or(kUnknownProcessBytes);
  const uint64_t working = memory.working ? memory.working(length, width) : 0;
  return AddSaturated(AddSaturated(process, memory.resident), working);
}

uint64_t BytesBeforeShards(const MemoryBeforeShards& memory, const Plan& plan) {
  uint32_t length = plan.length;
  uint32_t width = plan.width;
  for (const Plan& variant : plan.variants) {
    length = std::max(length, variant.length);
    width = std::max(width, variant.width);
  }
  return BytesBeforeShards(memory, length, width);
}

std::optional<uint64_t> ShardMemory(const MemoryBeforeShards& memory, const Judging& judging,
                                    uint32_t length, uint32_t width) {
  if (!judging.memory_bytes) return std::nullopt;
  const uint64_t base = BytesBeforeShards(memory, length, width);
  return *judging.memory_bytes > base ? *judging.memory_bytes - base : 0;
}

}  // namespace sti
