// Measures how words are used in the texts of a data set, and what their embedding rows cost where
// some of them stay in memory. Texts are as long as a length allows, made of the examples one
// behind the other: so are the texts that a plan must be in time for.
#pragma once

#include <span>

#include "format/container_index.h"
#include "importance/examples.h"
#include "types/word_use.h"

namespace sti {

/// Counts words, and replays the reads of texts. Of two halves of the examples, the words of one
/// are preloaded for the texts of the other, so that no text helps itself. It reads nothing.
WordUse MeasureWordUse(const ContainerIndex& index, std::span<const ExampleBatch> batches);

}  // namespace sti
