#include "model/embedding_rows.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "format/row_codec.h"

namespace sti {
namespace {

uint64_t OffsetOf(const RowTable& table, uint64_t row) {
  return table.offset + row * table.row_bytes;
}

// Returns the blocks around `rows` rows from `first` on.
EmbeddingReads::Range BlocksOf(const RowTable& table, uint64_t first, uint64_t rows) {
  const uint64_t begin = RoundDown(OffsetOf(table, first), kBlockBytes);
  return {begin, RoundUp(OffsetOf(table, first + rows), kBlockBytes) - begin, 0};
}

void AppendWords(const ContainerIndex& index, uint64_t words_place, EmbeddingReads& reads) {
  const size_t first = reads.ranges.size();
  for (const uint32_t word : reads.words) {
    const EmbeddingReads::Range blocks = BlocksOf(index.words, word, 1);
    if (reads.ranges.size() > first) {
      EmbeddingReads::Range& last = reads.ranges.back();
      if (blocks.offset <= last.offset + last.length) {
        last.length = std::max(last.length, blocks.offset + blocks.length - last.offset);
        continue;
      }
    }
    reads.ranges.push_back(blocks);
  }
  reads.end = words_place;
  for (size_t range = first; range < reads.ranges.size(); ++range) {
    reads.ranges[range].place = reads.end;
    reads.end += reads.ranges[range].length;
  }
}

void AppendPositions(const ContainerIndex& index, EmbeddingReads& reads) {
  if (reads.first_position >= reads.end_position) return;
  const uint32_t first = index.info.first_position_row();
  EmbeddingReads::Range blocks = BlocksOf(index.positions, first + reads.first_position,
                                          reads.end_position - reads.first_position);
  blocks.place = blocks.offset - BlocksOf(index.positions, first, 1).offset;
  reads.ranges.push_back(blocks);
}

// Adds row `row`, found at `bytes`, to `sum` after checking it.
Status AddCheckedRow(const RowTable& table, uint32_t row, const uint8_t* bytes,
                     const std::string& file, float* sum) {
  const std::span<const uint8_t> stored{bytes, table.row_bytes};
  STI_RETURN_IF_ERROR(CheckRow(table, row, stored, file));
  AddRow(table, stored, sum);
  return {};
}

}  // namespace

EmbeddingReads PlanEmbeddingReads(const ContainerIndex& index, std::span<const uint32_t> ids,
                                  uint32_t tokens) {
  EmbeddingReads reads;
  reads.words.assign(ids.begin(), ids.end());
  std::sort(reads.words.begin(), reads.words.end());
  reads.words.erase(std::unique(reads.words.begin(), reads.words.end()), reads.words.end());
  reads.end_position = index.info.position_rows(tokens);
  PlanEmbeddingReads(index, PositionBlockBytes(index, tokens), &reads);
  return reads;
}

void PlanEmbeddingReads(const ContainerIndex& index, uint64_t words_place, EmbeddingReads* reads) {
  reads->ranges.clear();
  const bool words_first = index.words.offset < index.positions.offset;
  if (!words_first) AppendPositions(index, *reads);
  AppendWords(index, words_place, *reads);
  if (words_first) AppendPositions(index, *reads);
  reads->bytes = 0;
  for (const EmbeddingReads::Range& range : reads->ranges) reads->bytes += range.length;
}

uint64_t PositionBlockBytes(const ContainerIndex& index, uint32_t tokens) {
  if (tokens == 0) return 0;
  const ModelInfo& info = index.info;
  return BlocksOf(index.positions, info.first_position_row(), info.position_rows(tokens)).length;
}

uint64_t PlaceOfPosition(const ContainerIndex& index, uint32_t position) {
  const uint32_t first = index.info.first_position_row();
  return OffsetOf(index.positions, first + position) - BlocksOf(index.positions, first, 1).offset;
}

uint64_t MaxWordBlockBytes(const ContainerIndex& index, uint32_t words) {
  return words * (RoundUp(index.words.row_bytes, kBlockBytes) + kBlockBytes);
}

Status CheckEmbeddingRange(const ContainerIndex& index, const EmbeddingReads& reads, size_t range,
                           std::span<const uint8_t> blocks, const std::string& file) {
  const EmbeddingReads::Range& read = reads.ranges[range];
  const auto check = [&](const RowTable& table, uint32_t row) -> Status {
    const uint64_t offset = OffsetOf(table, row);
    if (offset < read.offset || offset + table.row_bytes > read.offset + read.length) return {};
    const auto bytes = blocks.subspan(read.place + (offset - read.offset), table.row_bytes);
    return CheckRow(table, row, bytes, file);
  };
  for (uint32_t word : reads.words) STI_RETURN_IF_ERROR(check(index.words, word));
  for (uint32_t p = reads.first_position; p < reads.end_position; ++p)
    STI_RETURN_IF_ERROR(check(index.positions, index.info.first_position_row() + p));
  return {};
}

Status CheckWordRows(const RowTable& words, uint32_t first, std::span<const uint8_t> stored,
                     const std::string& file) {
  const size_t count = stored.size() / words.row_bytes;
  for (size_t i = 0; i < count; ++i) {
    STI_RETURN_IF_ERROR(CheckRow(words, first + static_cast<uint32_t>(i),
                                 stored.subspan(i * words.row_bytes, words.row_bytes), file));
  }
  return {};
}

const uint8_t* LocateRow(const EmbeddingReads& reads, std::span<const uint8_t> blocks,
                         const RowTable& table, uint32_t row) {
  const uint64_t offset = OffsetOf(table, row);
  const auto after = std::upper_bound(
      reads.ranges.begin(), reads.ranges.end(), offset,
      [](uint64_t wanted, const EmbeddingReads::Range& range) { return wanted < range.offset; });
  const EmbeddingReads::Range& range = *(after - 1);
  return &blocks[range.place + (offset - range.offset)];
}

Status SumEmbeddings(const ContainerIndex& index, RowLocator locate, const EmbeddingInput& input,
                     const std::string& file, float* hidden) {
  const auto& [ids, types, type_rows, first_position] = input;
  const size_t width = index.info.shape.embedding_width();
  PositionRows rows(index.info, first_position);
  for (size_t p = 0; p < ids.size(); ++p) {
    float* sum = hidden + p * width;
    // Word, then type, then position: the order in which the reference implementations add.
    std::fill(sum, sum + width, 0.0F);
    const uint8_t* const word = locate(index.words, ids[p]);
    STI_RETURN_IF_ERROR(AddCheckedRow(index.words, ids[p], word, file, sum));
    if (!type_rows.empty()) {
      const float* type = &type_rows[types[p] * width];
      for (size_t i = 0; i < width; ++i) sum[i] += type[i];
    }
    const uint32_t row = rows.Next(ids[p]);
    const uint8_t* const position = locate(index.positions, row);
    STI_RETURN_IF_ERROR(AddCheckedRow(index.positions, row, position, file, sum));
  }
  return {};
}

Status SumEmbeddings(const ContainerIndex& index, const EmbeddingReads& reads,
                     std::span<const uint8_t> blocks, const EmbeddingInput& input,
                     const std::string& file, float* hidden) {
  const auto locate = [&](const RowTable& table, uint32_t row) {
    return LocateRow(reads, blocks, table, row);
  };
  return SumEmbeddings(index, locate, input, file, hidden);
}

}  // namespace sti
