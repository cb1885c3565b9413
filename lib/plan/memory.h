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

/// Returns the memory of a process before shards, in bytes, for inputs of up to `length` tokens
/// through layers of `width` slices.
uint64_t BytesBeforeShards(const MemoryBeforeShards& memory, uint32_t length, uint32_t width);

/// Returns the memory of a process before shards, in bytes, for a plan and its variants. They share
/// one working memory, which fits the longest input and the widest layer of any of them.
uint64_t BytesBeforeShards(const MemoryBeforeShards& memory, const Plan& plan);

/// Returns the bytes left for preloaded and staged shards; nothing if memory is not bounded.
std::optional<uint64_t> ShardMemory(const MemoryBeforeShards& memory, const Judging& judging,
                                    uint32_t length, uint32_t width);

/// Returns a + b, or the largest number where that would overflow.
uint64_t AddSaturated(uint64_t a, uint64_t b);

}  // namespace sti
