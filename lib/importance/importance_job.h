// What a measurement and an estimate of importance are asked for alike.
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

/// DataError if no shard can be raised, or examples or their labels are missing.
Status CheckRequest(const ContainerFile& file, std::span<const Example> examples,
                    const ImportanceOptions& options);

/// Returns the bits that shards are raised to: the most bits, with gains all above the fewest;
/// ascending.
std::vector<uint32_t> RaisedBits(const ContainerIndex& index, bool gains);

/// The job on `batches`, of one unit and no submodels unless the caller says more.
ImportanceJob JobOf(const ContainerIndex& index, std::span<const ExampleBatch> batches,
                    const ImportanceOptions& options, const std::string& kernel);

}  // namespace sti
