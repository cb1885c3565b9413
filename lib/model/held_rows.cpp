#include "model/held_rows.h"

#include <algorithm>

#include "format/row_codec.h"

namespace sti {
HeldRows::HeldRows(const ContainerIndex& index, std::span<const uint32_t> words, uint32_t tokens,
                   RowLocator find)
    : words_(words.begin(), words.end()), first_position_(index.info.first_position_row()) {
  std::sort(words_.begin(), words_.end());
  words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
  const auto copy = [&](const RowTable& table, uint32_t row, std::vector<uint8_t>* rows) {
    const uint8_t* bytes = find(table, row);
    rows->insert(rows->end(), bytes, bytes + table.row_bytes);
  };
  const uint32_t positions = index.info.position_rows(tokens);
  word_rows_.reserve(words_.size() * index.words.row_bytes);
  position_rows_.reserve(size_t{positions} * index.positions.row_bytes);
  for (const uint32_t word : words_) copy(index.words, word, &word_rows_);
  for (uint32_t p = 0; p < positions; ++p)
    copy(index.positions, first_position_ + p, &position_rows_);
}

const uint8_t* HeldRows::Find(const RowTable& table, uint32_t row) const {
  if (table.kind == RowTableKind::kPosition) {
    const size_t place = size_t{row - first_position_} * table.row_bytes;
    return row >= first_position_ && place < position_rows_.size() ? &position_rows_[place]
                                                                   : nullptr;
  }
  const auto found = std::lower_bound(words_.begin(), words_.end(), row);
  if (found == words_.end() || *found != row) return nullptr;
  return &word_rows_[static_cast<size_t>(found - words_.begin()) * table.row_bytes];
}

std::vector<uint32_t> WordsOfNoText(const TokenizerInfo& tokenizer) {
  return {tokenizer.unknown_id, tokenizer.cls_id, tokenizer.sep_id, tokenizer.pad_id};
}

uint64_t FallbackRowBytes(const ContainerIndex& index, uint32_t tokens) {
  return HeldRows::RoomFor(index, WordsOfNoText(index.info.tokenizer).size(),
                           index.info.position_rows(tokens));
}

uint32_t SumRowsInMemory(const ContainerIndex& index, RowLocator find, const EmbeddingInput& input,
                         float* hidden) {
  const auto& [ids, types, type_rows, first_position] = input;
  const size_t width = index.info.shape.embedding_width();
  const auto add = [&](const RowTable& table, const uint8_t* row, float* sum) {
    if (row != nullptr) AddRow(table, {row, table.row_bytes}, sum);
  };
  uint32_t missing = 0;
  PositionRows rows(index.info, first_position);
  for (size_t p = 0; p < ids.size(); ++p) {
    float* sum = hidden + p * width;
    std::fill(sum, sum + width, 0.0F);
    const uint8_t* word = find(index.words, ids[p]);
    if (word == nullptr) {
      ++missing;
      word = find(index.words, index.info.tokenizer.unknown_id);
    }
    add(index.words, word, sum);
    const float* type = &type_rows[types[p] * width];
    for (size_t i = 0; i < width; ++i) sum[i] += type[i];
    add(index.positions, find(index.positions, rows.Next(ids[p])), sum);
  }
  return missing;
}

}  // namespace sti
