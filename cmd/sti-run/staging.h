#pragma once

#include <cstdint>

#include "base/result.h"
#include "format/container_index.h"
#include "kernels/backend.h"
#include "types/plan.h"

namespace sti {

/// Bytes of `memory_bytes`, the most that this process may take, that are left for shards read
/// ahead once everything else has its part: what it holds now, what a run under `plan` and its
/// variants on `threads` cores takes, and the preloaded shards. At least what one layer streams if
/// the plan was made for that much memory. InfeasibleError if nothing is left.
Result<uint64_t> StagingBytes(uint64_t memory_bytes, const ContainerIndex& index, uint32_t threads,
                              const Arithmetic& arithmetic, const Plan& plan);

}  // namespace sti
