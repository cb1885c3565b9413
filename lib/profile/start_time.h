// The time that a process takes until its model is open, which plans of cold starts count.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "io/block_reader.h"

namespace sti {

/// Returns the CPU time of this process so far, in microseconds. Called before anything is opened,
/// it is what the system, the dynamic linker, static initialisers and the command line took: there
/// is nothing else to wait for in it but pages of the program that are not in memory yet.
double ProcessCpuUs();

/// Returns the time from an open file to a runner that is ready for its first text, in
/// microseconds: index, vocabulary and its tables, parameters of the embedding, threads, working
/// memory; what each layer needs it reads with the layer. It is the median of some runs, reads
/// included. Room for shards is left out: a plan decides it. Errors are those of opening, and of
/// ContainerFile::RequireWholeLayers.
Result<double> MeasureOpenUs(const BlockSourcePtr& model, ReadPath way, uint32_t threads);

}  // namespace sti
