// How the memory that a model may take is divided: what is not needed otherwise holds shards that
// are read ahead.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "format/container_index.h"
#include "kernels/backend.h"
#include "types/plan.h"

namespace sti {

/// The memory of one model, and what decides how much of it is taken before shards.
struct OwnMemory {
  uint64_t bytes = 0;            ///< all that the model may take
  bool planned_for = false;      ///< the plan was made for a process that may take as much
  uint64_t tokenizer_bytes = 0;  ///< of the tokenizer, which is made already
  uint32_t threads = 1;
  Arithmetic arithmetic = {};
};

/// Returns the bytes that are left for shards read ahead once everything else has its part:
/// tokenizer, resident parts, what a run under `plan` and its variants works in, and the preloaded
/// shards. At least what one layer streams, if the plan was made for that much memory.
/// InfeasibleError if nothing is left.
Result<uint64_t> StagingBytes(const ContainerIndex& index, const Plan& plan,
                              const OwnMemory& memory);

}  // namespace sti
