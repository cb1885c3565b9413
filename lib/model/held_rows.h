// Embedding rows that stay in memory from run to run, for a run that must not wait for any read:
// the rows of certain words, and those of positions. A word whose row is not there counts as the
// unknown word.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "format/container_index.h"
#include "model/embedding_rows.h"

namespace sti {

/// Holds rows, packed. Immutable; any number of threads may share one.
class HeldRows {
 public:
  HeldRows() = default;
  /// Copies the rows of `words`, which are below the vocabulary, and of the positions of up to
  /// `tokens` tokens. `find` finds each of them.
  HeldRows(const ContainerIndex& index, std::span<const uint32_t> words, uint32_t tokens,
           RowLocator find);

  /// Returns the stored bytes of a row; null if it is not held.
  [[nodiscard]] const uint8_t* Find(const RowTable& table, uint32_t row) const;
  /// Returns the bytes of memory that so many rows will take.
  static uint64_t RoomFor(const ContainerIndex& index, uint64_t words, uint64_t positions) {
    return words * (sizeof(uint32_t) + index.words.row_bytes) +
           positions * index.positions.row_bytes;
  }
  /// Returns the bytes of memory that the rows take.
  [[nodiscard]] uint64_t bytes() const {
    return words_.size() * sizeof(uint32_t) + word_rows_.size() + position_rows_.size();
  }

 private:
  std::vector<uint32_t> words_;  ///< ascending, each once
  std::vector<uint8_t> word_rows_;
  std::vector<uint8_t> position_rows_;
  uint32_t first_position_ = 0;
};

/// Returns the words that every input of the model may have, whatever its text: those that stand
/// for no text.
std::vector<uint32_t> WordsOfNoText(const TokenizerInfo& tokenizer);

/// Returns the bytes of the rows that a fallback holds for inputs of up to `tokens` tokens: those
/// of words that stand for no text, and of positions.
uint64_t FallbackRowBytes(const ContainerIndex& index, uint32_t tokens);

/// Writes the embedding of one input to `hidden` [tokens, E], as SumEmbeddings does, out of the
/// rows that `find` finds; it returns null for others. A word whose row is not found has that of
/// the unknown word. Returns the number of tokens whose words are so.
uint32_t SumRowsInMemory(const ContainerIndex& index, RowLocator find, const EmbeddingInput& input,
                         float* hidden);

}  // namespace sti
