// A measurement of importance and an estimate of it begin alike: they check what they are asked
// for, and describe it as a job. Part of a job is the word use of the data set, for texts of
// several lengths. A plan for inputs of a length must be in time for the longest of them, so the
// texts that are counted all have that length: they are cut out of the examples joined one behind
// the other.
#pragma once

#include <cstdint>
#include <optional>
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
#include "types/tag_scheme.h"
#include "types/word_use.h"

namespace sti {

/// Returns the tags of a model that labels tokens, nothing for others. Errors: those of
/// TagScheme::Of.
Result<std::optional<TagScheme>> TagsOf(const ModelInfo& info);

/// Returns kUsage if the metric is not for what the model gives.
Status CheckMetric(const ContainerFile& file, Metric metric);

/// Returns the error of CheckMetric, or a DataError if no shard can be raised, or examples, their
/// labels or their scores are missing.
Status CheckRequest(const ContainerFile& file, std::span<const Example> examples,
                    const ImportanceOptions& options);

/// Returns the bits that shards are raised to: the most bits, with gains all above the fewest;
/// ascending.
std::vector<uint32_t> RaisedBits(const ContainerIndex& index, bool gains);

/// Returns the job on `batches` in the arithmetic `kernel`, with its word use. It has one unit and
/// no submodels, as an estimate has; a measurement sets its own.
ImportanceJob JobOf(const ContainerIndex& index, std::span<const ExampleBatch> batches,
                    const ImportanceOptions& options, const std::string& kernel);

/// Returns the word use of the examples. The frequent words of each half of the examples are
/// preloaded for the texts of the other half, so that no text helps itself, and the reads of the
/// texts are replayed in a row store of sizes alone: nothing is read.
WordUse MeasureWordUse(const ContainerIndex& index, std::span<const ExampleBatch> batches);

}  // namespace sti
