// Embedding rows read one by one: a run moves the rows of its own tokens and no others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "format/container_index.h"
#include "model/resident_model.h"

namespace sti {

/// Blocks to read for one input, and where they land in a buffer.
struct EmbeddingReads {
  struct Range {
    uint64_t offset = 0;  ///< multiples of kBlockBytes, as are length and place
    uint64_t length = 0;
    uint64_t place = 0;
  };
  std::vector<Range> ranges;    ///< ascending offsets, apart but for where the tables meet
  std::vector<uint32_t> words;  ///< rows of words inside them, ascending
  uint32_t first_position = 0;  ///< rows of positions inside them, from first_position_row() on
  uint32_t end_position = 0;    ///< to, not including, this one
  uint64_t bytes = 0;           ///< of all ranges
  uint64_t end = 0;             ///< end of the last place of a word's row
};

/// Covers the word rows of `ids` and the rows of positions that inputs of up to `tokens` tokens may
/// need; they land in a buffer of `end` bytes. ids < vocabulary, tokens <= info.max_length().
EmbeddingReads PlanEmbeddingReads(const ContainerIndex& index, std::span<const uint32_t> ids,
                                  uint32_t tokens);
/// Covers reads->words, which ascend, and reads' positions, in the memory of `reads`. The blocks of
/// positions land in their order in the file, as if all from position 0 on were read to the begin
/// of the buffer; those of words one behind the other from `words_place` on.
void PlanEmbeddingReads(const ContainerIndex& index, uint64_t words_place, EmbeddingReads* reads);

/// Returns the bytes of the blocks that hold the rows of positions of up to `tokens` tokens.
uint64_t PositionBlockBytes(const ContainerIndex& index, uint32_t tokens);
/// Returns the place in those blocks of row first_position_row() + `position`.
uint64_t PlaceOfPosition(const ContainerIndex& index, uint32_t position);
/// Returns the bytes that the blocks of the rows of `words` words never exceed.
uint64_t MaxWordBlockBytes(const ContainerIndex& index, uint32_t words);

/// Checks the rows inside one of the ranges.
[[nodiscard]] Status CheckEmbeddingRange(const ContainerIndex& index, const EmbeddingReads& reads,
                                         size_t range, std::span<const uint8_t> blocks,
                                         const std::string& file);

/// Returns the stored bytes of a row.
using RowLocator = FunctionRef<const uint8_t*(const RowTable& table, uint32_t row)>;

/// Returns where `reads` has brought a row that it covers, in `blocks`.
const uint8_t* LocateRow(const EmbeddingReads& reads, std::span<const uint8_t> blocks,
                         const RowTable& table, uint32_t row);

/// Sums word, position and type rows into `hidden` [ids, hidden], each row's checksum verified.
/// `types` has one entry an id. PositionRows says which position's row an id has.
Status SumEmbeddings(const ContainerIndex& index, RowLocator locate, std::span<const uint32_t> ids,
                     std::span<const uint32_t> types, std::span<const float> type_rows,
                     const std::string& file, float* hidden);
/// Sums rows that `reads` has brought into `blocks`, likewise.
Status SumEmbeddings(const ContainerIndex& index, const EmbeddingReads& reads,
                     std::span<const uint8_t> blocks, std::span<const uint32_t> ids,
                     std::span<const uint32_t> types, std::span<const float> type_rows,
                     const std::string& file, float* hidden);

}  // namespace sti
