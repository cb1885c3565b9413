// What a process takes before its shards (planner: "Memory as a budget").
//
// A running process holds its code and libraries, the open model (resident parts, tokenizer), what
// a run works in, the preloaded shards, and the arena of streamed ones. The first is measured by
// sti-profile, the second follows from the container, the third is counted here, and shards are
// counted where they are planned.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/planner.h"
#include "types/compute_type.h"

namespace sti {

/// Bytes that inputs of up to `length` tokens through layers of `width` slices work in, on
/// `threads` cores:
///   a token: the larger of 3 m head_dim (queries, keys, values) and m slice_ffn floats, which
///   share their place; 2 hidden floats (the layer's input, and sums); one block and a row for its
///   word, a row for its position;
///   a thread: two decoded panels, one of outliers, a tile of outputs; scores of 48 queries.
///   the inputs of 16 rows side by side;
///   and where weights are multiplied in fewer bits than 32: activations so packed, once for a
///   layer and once for a thread, whole panels, and a head's keys and values in pairs beside the
///   scores of 12 queries in place of 48.
uint64_t WorkingBytes(const ModelShape& shape, uint32_t threads, uint32_t length, uint32_t width,
                      ComputeType compute = ComputeType::kFp32);

/// Memory of a process before shards, in bytes: the profile's process_bytes (8 MiB where unknown),
/// the model's resident parts, and WorkingBytes.
uint64_t BaseBytes(const PlanInput& input, uint32_t length, uint32_t width);

/// The same for a plan and its variants, which share one working memory: the longest input and the
/// widest layer of any of them.
uint64_t BaseBytes(const PlanInput& input, const Plan& plan);

/// Bytes left for preloaded and staged shards; nothing if memory is not bounded.
std::optional<uint64_t> ShardMemory(const PlanInput& input, const PlanRequest& request,
                                    uint32_t length, uint32_t width);

/// a + b, or the largest number where that would overflow.
uint64_t AddSaturated(uint64_t a, uint64_t b);

}  // namespace sti
