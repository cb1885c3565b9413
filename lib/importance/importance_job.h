// A measurement of importance and an estimate of it begin alike: they check what they are asked
// for, and describe it as a job. Part of it is how words are used in the texts of the data set, and
// what their embedding rows cost where some of them stay in memory. Texts are as long as a length
// allows, made of the examples one behind the other: so are the texts that a plan must be in time
// for.
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
#include "types/word_use.h"

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

/// Counts words, and replays the reads of texts. Of two halves of the examples, the words of one
/// are preloaded for the texts of the other, so that no text helps itself. It reads nothing.
WordUse MeasureWordUse(const ContainerIndex& index, std::span<const ExampleBatch> batches);

}  // namespace sti
