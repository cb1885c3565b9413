// Counts the bytes of a container by what they hold, beside those that the paper's way of storing
// would take.
#pragma once

#include <cstdint>

#include "format/container_index.h"

namespace sti {

/// Holds byte counts as stored, alignment not counted unless said otherwise.
struct ContainerSizes {
  uint64_t file = 0;     ///< the whole file
  uint64_t weights = 0;  ///< number of weights in all shards
  uint64_t outliers = 0;
  uint64_t top_planes = 0;  ///< the two planes in the bases
  uint64_t planes[4] = {};  ///< the planes that 3, 4, 5 and 6 bits add
  uint64_t codebooks = 0;   ///< centroids and scales
  uint64_t full = 0;        ///< full fidelity
  uint64_t resident = 0;    ///< biases, norms, pooler, classifier
  uint64_t vocabulary = 0;
  uint64_t merges = 0;         ///< merges of byte-level BPE
  uint64_t word_rows = 0;      ///< word embeddings, checksums included
  uint64_t position_rows = 0;  ///< position embeddings, checksums included
  uint64_t rest = 0;           ///< all else in the file: header, index, alignment
  uint64_t progressive = 0;    ///< shards at all of 2 to 6 bits, alignment counted
  uint64_t separate = 0;       ///< one version of each shard for each offered bitwidth of 2 to 6,
                               ///< each with its own codes, outliers and centroids (STI 4.2)
  [[nodiscard]] double BitsPerWeight(uint64_t bytes) const {
    return weights == 0 ? 0 : static_cast<double>(bytes) * 8 / static_cast<double>(weights);
  }
};

/// Returns the sizes of a container of `file_bytes`.
ContainerSizes SizesOf(const ContainerIndex& index, uint64_t file_bytes);

}  // namespace sti
