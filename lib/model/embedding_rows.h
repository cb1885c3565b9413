// Embedding rows are read one by one: a run reads the blocks around the rows of its own words and
// positions out of the tables of the container, and no others. All functions are pure and
// thread-safe.
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

/// The ranges of blocks to read for one input, the place in a buffer where each lands, and the rows
/// that are wanted of them. Rows of positions are counted from ModelInfo::first_position_row() on.
struct EmbeddingReads {
  /// Offset in the file, length and offset in the buffer, in bytes, are multiples of kBlockBytes.
  struct Range {
    uint64_t offset = 0;
    uint64_t length = 0;
    uint64_t place = 0;
  };
  /// By ascending offset. They do not overlap, except that a range of words and one of positions
  /// may share the block in which their tables meet.
  std::vector<Range> ranges;
  std::vector<uint32_t> words;  ///< wanted rows of words, ascending
  uint32_t first_position = 0;  ///< wanted rows of positions: from this one ...
  uint32_t end_position = 0;    ///< ... to the one before this
  uint64_t bytes = 0;           ///< lengths of all ranges together
  uint64_t end = 0;             ///< end of all places, which the buffer reaches to
};

/// Returns the reads of the rows of the words `ids` and of all positions that inputs of up to
/// `tokens` tokens may need. The positions' blocks land first, the words' behind them. Each id is
/// below the vocabulary's size, and tokens <= info.max_length().
EmbeddingReads PlanEmbeddingReads(const ContainerIndex& index, std::span<const uint32_t> ids,
                                  uint32_t tokens);
/// Sets ranges, bytes and end of `reads` for its words and positions; allocates only where its
/// lists are too small. The positions' block of file offset o lands at o less that of the block of
/// position 0, whichever position is first; the words' land one behind the other from `words_place`
/// on, which is behind all positions that any input needs.
void PlanEmbeddingReads(const ContainerIndex& index, uint64_t words_place, EmbeddingReads* reads);

/// Returns the bytes of the blocks that hold the rows of positions of up to `tokens` tokens.
uint64_t PositionBlockBytes(const ContainerIndex& index, uint32_t tokens);
/// Returns the place in the buffer of row first_position_row() + `position`, in bytes.
uint64_t PlaceOfPosition(const ContainerIndex& index, uint32_t position);
/// Returns the most bytes that the blocks of the rows of any `words` words can have.
uint64_t MaxWordBlockBytes(const ContainerIndex& index, uint32_t words);

/// Verifies the checksums of the wanted rows that lie wholly in `reads.ranges[range]`, which has
/// been read to its place in `blocks`, the buffer of all ranges. DataError naming `file` and a row.
[[nodiscard]] Status CheckEmbeddingRange(const ContainerIndex& index, const EmbeddingReads& reads,
                                         size_t range, std::span<const uint8_t> blocks,
                                         const std::string& file);

/// Verifies the checksums of the rows of words from `first` on, which `stored` has one behind
/// another. DataError naming `file` and a row.
[[nodiscard]] Status CheckWordRows(const RowTable& words, uint32_t first,
                                   std::span<const uint8_t> stored, const std::string& file);

/// Returns the stored bytes of a row, checksum included, wherever they are in memory.
using RowLocator = FunctionRef<const uint8_t*(const RowTable& table, uint32_t row)>;

/// Returns the stored bytes of a row that `reads` wants, in `blocks`, the buffer of all ranges.
const uint8_t* LocateRow(const EmbeddingReads& reads, std::span<const uint8_t> blocks,
                         const RowTable& table, uint32_t row);

/// The tokens of one input, and the rows of token types, which are no part of the row tables.
struct EmbeddingInput {
  std::span<const uint32_t> ids;     ///< [tokens]
  std::span<const uint32_t> types;   ///< [tokens]
  std::span<const float> type_rows;  ///< [T, E]
  uint32_t first_position = 0;       ///< of the first token, counted from that of a text's first
};

/// Writes the embedding of one input, the sum of the word, type and position row of each token, to
/// `hidden` [tokens, E]. The class PositionRows gives tokens their positions. DataError naming
/// `file` and a row whose checksum does not match.
Status SumEmbeddings(const ContainerIndex& index, RowLocator locate, const EmbeddingInput& input,
                     const std::string& file, float* hidden);
/// Does the same with the rows that `reads` has brought into `blocks`, the buffer of all ranges.
Status SumEmbeddings(const ContainerIndex& index, const EmbeddingReads& reads,
                     std::span<const uint8_t> blocks, const EmbeddingInput& input,
                     const std::string& file, float* hidden);

}  // namespace sti
