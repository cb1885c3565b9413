// What a process takes before its shards (planner: "Memory as a budget").
#pragma once

#include <cstdint>
#include <optional>

#include "plan/planner.h"

namespace sti {

/// Memory of a process before shards, in bytes: the profile's process_bytes (8 MiB where unknown),
/// the model's resident parts, and activations:
///   length * (3 m head_dim + 2 hidden + m slice_ffn) floats: Q, K, V, input and output, FFN;
///   threads * 64 * hidden floats: one decoded panel a thread.
uint64_t BaseBytes(const PlanInput& input, uint32_t length, uint32_t width);

/// Bytes left for preloaded and staged shards; nothing if memory is not bounded.
std::optional<uint64_t> ShardMemory(const PlanInput& input, const PlanRequest& request,
                                    uint32_t length, uint32_t width);

/// a + b, or the largest number where that would overflow.
uint64_t AddSaturated(uint64_t a, uint64_t b);

}  // namespace sti
