// Embedding rows read one by one: a run moves the rows of its own tokens and no others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/container_index.h"
#include "model/resident_model.h"

namespace sti {

/// Blocks to read for one input, and where they land in a buffer of `bytes`.
struct EmbeddingReads {
  struct Range {
    uint64_t offset = 0;  ///< multiples of kBlockBytes, as are length and place
    uint64_t length = 0;
    uint64_t place = 0;
  };
  std::vector<Range> ranges;    ///< ascending offsets, apart
  std::vector<uint32_t> words;  ///< rows of words inside them, ascending
  uint32_t positions = 0;       ///< rows of positions inside them
  uint64_t bytes = 0;
};

/// Covers the word rows of `ids` and the rows of the first `positions` positions, which begin at
/// the model's position_offset. ids < vocabulary, positions <= info.max_length().
EmbeddingReads PlanEmbeddingReads(const ContainerIndex& index, std::span<const uint32_t> ids,
                                  uint32_t positions);
/// Plans those reads into `reads`, whose memory it uses again.
void PlanEmbeddingReads(const ContainerIndex& index, std::span<const uint32_t> ids,
                        uint32_t positions, EmbeddingReads* reads);

/// Bytes that buffers for `length` tokens never exceed.
uint64_t MaxEmbeddingReadBytes(const ContainerIndex& index, uint32_t length);

/// Checks the rows inside one of the ranges.
[[nodiscard]] Status CheckEmbeddingRange(const ContainerIndex& index, const EmbeddingReads& reads,
                                         size_t range, std::span<const uint8_t> blocks,
                                         const std::string& file);

/// Sums word, position and type rows into `hidden` [ids, hidden], each row's checksum verified.
/// `blocks` holds the ranges of `reads`; `types` has one entry an id. Position p is ids[p]'s.
Status SumEmbeddings(const ContainerIndex& index, const EmbeddingReads& reads,
                     std::span<const uint8_t> blocks, std::span<const uint32_t> ids,
                     std::span<const uint32_t> types, std::span<const float> type_rows,
                     const std::string& file, float* hidden);

}  // namespace sti
