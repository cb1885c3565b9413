#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "io/block_reader.h"

namespace sti {

/// CPU time of this process so far, in microseconds. Called first in main, it is what the system,
/// the dynamic linker and static initialisers took: there is nothing else to wait for in it but
/// pages of the program that are not in memory yet.
double ProcessCpuUs();

/// From an open reader to a runner that is ready for its first text, in microseconds: index,
/// vocabulary and its tables, threads, working memory; what each layer needs it reads with the
/// layer. The file's blocks come from memory, so no read is in it. The median of some runs. Room
/// for shards is left out: a plan decides it.
Result<double> MeasureOpenUs(const BlockSourcePtr& model, ReadPath way, uint32_t threads);

}  // namespace sti
