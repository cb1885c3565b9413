// A measurement of importance and an estimate of it begin alike: they check what they are asked
// for, and describe it as a job.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/container_index.h"
#include "importance/examples.h"
#include "importance/measure.h"
#include "io/container_file.h"
#include "text/dataset.h"
#include "types/importance_part.h"

namespace sti {

/// Returns a DataError if no shard can be raised, or examples or their labels are missing.
Status CheckRequest(const ContainerFile& file, std::span<const Example> examples,
                    const ImportanceOptions& options);

/// Returns the bits that shards are raised to: the most bits, with gains all above the fewest;
/// ascending.
std::vector<uint32_t> RaisedBits(const ContainerIndex& index, bool gains);

/// Returns the job on `batches`, with one unit and without submodels; a measurement sets its own.
ImportanceJob JobOf(const ContainerIndex& index, std::span<const ExampleBatch> batches,
                    const ImportanceOptions& options, const std::string& kernel);

}  // namespace sti
