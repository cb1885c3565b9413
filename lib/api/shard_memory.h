// The memory for shards, divided. Within a model, what nothing else needs holds shards that are
// read ahead; among the models of one process, each gets what it cannot run without, and then the
// same lead.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/container_index.h"
#include "kernels/backend.h"
#include "types/plan.h"

namespace sti {

/// Holds the bound on one model's memory, and what decides how much of it is taken before shards.
struct OwnMemory {
  uint64_t bytes = 0;            ///< all that the model may take
  uint64_t planned_for = 0;      ///< all that a process may take, if the plan was made for it
  uint64_t tokenizer_bytes = 0;  ///< taken by the tokenizer and label vectors, which exist already
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

/// Says what a model takes under a plan, in bytes.
struct MemoryNeed {
  /// Taken before the first shard that is read ahead: tokenizer, resident parts, the working memory
  /// of a run under the plan and its variants, and the preloaded shards; of a cascade also what one
  /// level keeps for the next.
  uint64_t before_shards = 0;
  uint64_t layer = 0;     ///< the most that one layer streams; without room for it no run ends
  uint64_t streamed = 0;  ///< the most that a run streams; more than that is of no use
};

/// Returns the need of the model of `index`. Of `memory` the bounds do not count.
MemoryNeed NeedOf(const ContainerIndex& index, const Plan& plan, const OwnMemory& memory);

/// Divides `bytes` among models and returns the share of each. A share holds what its model takes
/// before shards, and one layer; what is left goes to all in the proportion of their layers, so
/// that each may read as many layers ahead, until it holds all that it streams. Returns an
/// InfeasibleError with the bytes that would do if these do not.
Result<std::vector<uint64_t>> DivideMemory(std::span<const MemoryNeed> needs, uint64_t bytes);

}  // namespace sti
