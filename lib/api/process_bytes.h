// The memory of a process that no plan can compute from its own numbers, because only a process
// that runs shows it: code, libraries, stacks, the container's index and the slack of the heap.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "io/container_file.h"
#include "types/kernel.h"

namespace sti {

/// Returns the resident memory, in bytes, of a process that answers inputs of the model in `file`
/// on `threads` cores in `compute`, less what a plan computes: shards, resident parts, vocabulary
/// and working memory. It is measured: a session in this process answers one input under the
/// smallest plan. So this process has no other model open, and one thread calls. Errors are those
/// of ContainerFile::RequireWholeLayers, Session::Open and Session::Ask.
Result<uint64_t> MeasureProcessBytes(ContainerFile file, uint32_t threads, ComputeType compute);

}  // namespace sti
