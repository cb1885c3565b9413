// The memory of a process beside what a plan can count on its own, which only a process that runs
// shows.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "io/container_file.h"
#include "types/kernel.h"

namespace sti {

/// Returns the memory in bytes of a process that answers inputs of this model on `threads` cores,
/// computing in `compute`, less what is counted on its own: shards, resident parts and vocabulary,
/// and what a run works in. So it is code, libraries, stacks, the container's index and the heap's
/// slack. Found by a session that answers one input under the smallest of plans, in this process,
/// which has nothing else open.
Result<uint64_t> MeasureProcessBytes(ContainerFile file, uint32_t threads, ComputeType compute);

}  // namespace sti
