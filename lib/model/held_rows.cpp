#include "model/held_rows.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "format/row_codec.h"

namespace sti {
namespace {

// Copies a row of a table out of the blocks that were read.
void CopyRow(const EmbeddingReads& reads, std::span<const uint8_t> blocks, const RowTable& table,
             uint32_t row, std::vector<uint8_t>* rows) {
  const uint8_t* bytes = LocateRow(reads, blocks, table, row);
  rows->insert(rows->end(), bytes, bytes + table.row_bytes);
}

}  // namespace

Result<HeldRows> HeldRows::Load(ContainerFile& file, std::span<const uint32_t> words,
                                uint32_t tokens) {
  const ContainerIndex& index = file.index();
  const EmbeddingReads reads = PlanEmbeddingReads(index, words, tokens);
  AlignedBuffer blocks(reads.end);
  STI_RETURN_IF_ERROR(
      file.reader().ReadAll(RequestsFor<EmbeddingReads::Range>(reads.ranges, blocks.span())));
  for (size_t range = 0; range < reads.ranges.size(); ++range)
    STI_RETURN_IF_ERROR(CheckEmbeddingRange(index, reads, range, blocks.span(), file.name()));
  HeldRows held;
  held.words_ = reads.words;
  const uint32_t positions = index.info.position_rows(tokens);
  held.first_position_ = index.info.first_position_row();
  held.word_rows_.reserve(reads.words.size() * index.words.row_bytes);
  held.position_rows_.reserve(size_t{positions} * index.positions.row_bytes);
  for (uint32_t word : reads.words)
    CopyRow(reads, blocks.span(), index.words, word, &held.word_rows_);
  for (uint32_t p = 0; p < positions; ++p)
    CopyRow(reads, blocks.span(), index.positions, held.first_position_ + p, &held.position_rows_);
  return held;
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

uint32_t SumRowsInMemory(const ContainerIndex& index, RowLocator find,
                         std::span<const uint32_t> ids, std::span<const uint32_t> types,
                         std::span<const float> type_rows, float* hidden) {
  const size_t width = index.info.shape.hidden;
  const auto add = [&](const RowTable& table, const uint8_t* row, float* sum) {
    if (row != nullptr) AddRow(table, {row, table.row_bytes}, sum);
  };
  uint32_t missing = 0;
  PositionRows rows(index.info);
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
