// Divides the memory that a model may take: what nothing else needs holds shards that are read
// ahead.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "format/container_index.h"
#include "kernels/backend.h"
#include "types/plan.h"

namespace sti {

/// Holds the bound on one model's memory, and what decides how much of it is taken before shards.
struct OwnMemory {
  uint64_t bytes = 0;            ///< all that the model may take
  uint64_t planned_for = 0;      ///< all that a process may take, if the plan was made for it
  uint64_t tokenizer_bytes = 0;  ///< taken by the tokenizer, which exists already
  uint32_t threads = 1;
  Arithmetic arithmetic = {};
};

/// Returns the bytes that are left for shards read ahead beside everything else: the tokenizer,
/// resident parts, the working memory of a run under `plan` and its variants, and the preloaded
/// shards. If the plan was made for a process of this size, returns at least what one layer
/// streams, unless the model alone takes more than the process may, and at most what the plan gives
/// its shards in so much memory. Returns an InfeasibleError if nothing is left.
Result<uint64_t> StagingBytes(const ContainerIndex& index, const Plan& plan,
                              const OwnMemory& memory);

}  // namespace sti
