// Turns a container back into an ordinary model folder, with the weights that a reader of some
// bitwidth sees, so that quantisation can be checked in any framework.
#pragma once

#include <cstdint>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "io/container_file.h"

namespace sti {

/// Says how a container is exported.
struct ExportOptions {
  uint32_t bits = 32;     ///< bits of all shards: 2..6, or 32 for the source's own values
  ProgressSink progress;  ///< layers done
  CancelCheck cancelled;
};

/// Writes config.json, model.safetensors and the tokenizer's files to the new folder `dir`, all or
/// nothing. At 32 bits every tensor has the source's bytes; below, the matrices of layers are float
/// and the rest is as in the source. Works layer by layer, so that one layer bounds the memory.
///
/// Returns a UsageError if `dir` exists and is not empty, InfeasibleError if the container does not
/// offer the bits, DataError for damage.
Status ExportModel(ContainerFile& file, const ExportOptions& options, const std::string& dir);

}  // namespace sti
