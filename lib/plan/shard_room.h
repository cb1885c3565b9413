// Counts the memory that a process takes before its shards. A running process holds its code and
// libraries, the open model (resident parts, tokenizer), what a run works in, the preloaded shards,
// and the arena of streamed ones. Shards are counted where they are planned; the rest comes from
// the input, whose numbers are told by the code that lays that memory out.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/request.h"
#include "types/plan.h"

namespace sti {

/// Returns the memory of a process before shards, in bytes, for plans of this extent.
uint64_t BytesBeforeShards(const MemoryBeforeShards& memory, const PlanExtent& extent);

/// Returns the bytes left for preloaded and staged shards; nothing if memory is not bounded. A plan
/// and its variants share one working memory, which fits the extent of them all.
std::optional<uint64_t> ShardMemory(const MemoryBeforeShards& memory, const Judging& judging,
                                    const PlanExtent& extent);

/// Returns the bytes of embedding rows that a fallback holds for inputs of `tokens` tokens.
uint64_t FallbackRowBytes(const MemoryBeforeShards& memory, uint32_t tokens);

/// Returns a + b, or the largest number where that would overflow.
uint64_t AddSaturated(uint64_t a, uint64_t b);

}  // namespace sti
