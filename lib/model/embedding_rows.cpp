#include "model/embedding_rows.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "format/row_codec.h"

namespace sti {
namespace {

void AppendRows(const RowTable& table, uint64_t first, uint64_t rows,
                std::vector<EmbeddingReads::Range>& ranges) {
  uint64_t begin = RoundDown(table.offset + first * table.row_bytes, kBlockBytes);
  uint64_t end = RoundUp(table.offset + (first + rows) * table.row_bytes, kBlockBytes);
  if (!ranges.empty() && begin <= ranges.back().offset + ranges.back().length) {
    ranges.back().length = std::max(ranges.back().length, end - ranges.back().offset);
  } else {
    ranges.push_back({begin, end - begin, 0});
  }
}

// Where file offset `offset` lies in the blocks that were read.
const uint8_t* Locate(const EmbeddingReads& reads, std::span<const uint8_t> blocks,
                      uint64_t offset) {
  auto after = std::upper_bound(
      reads.ranges.begin(), reads.ranges.end(), offset,
      [](uint64_t wanted, const EmbeddingReads::Range& range) { return wanted < range.offset; });
  const EmbeddingReads::Range& range = *(after - 1);
  return &blocks[range.place + (offset - range.offset)];
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
                                  uint32_t positions) {
  EmbeddingReads reads;
  PlanEmbeddingReads(index, ids, positions, &reads);
  return reads;
}

void PlanEmbeddingReads(const ContainerIndex& index, std::span<const uint32_t> ids,
                        uint32_t positions, EmbeddingReads* reads) {
  reads->words.assign(ids.begin(), ids.end());
  std::sort(reads->words.begin(), reads->words.end());
  reads->words.erase(std::unique(reads->words.begin(), reads->words.end()), reads->words.end());
  reads->positions = positions;
  reads->ranges.clear();
  reads->bytes = 0;
  auto append_words = [&] {
    for (uint32_t row : reads->words) AppendRows(index.words, row, 1, reads->ranges);
  };
  auto append_positions = [&] {
    if (positions > 0)
      AppendRows(index.positions, index.info.position_offset, positions, reads->ranges);
  };
  if (index.words.offset < index.positions.offset) {
    append_words();
    append_positions();
  } else {
    append_positions();
    append_words();
  }
  for (EmbeddingReads::Range& range : reads->ranges) {
    range.place = reads->bytes;
    reads->bytes += range.length;
  }
}

uint64_t MaxEmbeddingReadBytes(const ContainerIndex& index, uint32_t length) {
  // A row touches at most this many blocks; positions are one run, and may begin inside a block.
  uint64_t word = RoundUp(index.words.row_bytes, kBlockBytes) + kBlockBytes;
  uint64_t position = RoundUp(uint64_t{length} * index.positions.row_bytes, kBlockBytes);
  return length * word + position + kBlockBytes;
}

Status CheckEmbeddingRange(const ContainerIndex& index, const EmbeddingReads& reads, size_t range,
                           std::span<const uint8_t> blocks, const std::string& file) {
  const EmbeddingReads::Range& read = reads.ranges[range];
  const auto check = [&](const RowTable& table, uint32_t row) -> Status {
    const uint64_t offset = table.offset + uint64_t{row} * table.row_bytes;
    if (offset < read.offset || offset + table.row_bytes > read.offset + read.length) return {};
    const auto bytes = blocks.subspan(read.place + (offset - read.offset), table.row_bytes);
    return CheckRow(table, row, bytes, file);
  };
  for (uint32_t word : reads.words) STI_RETURN_IF_ERROR(check(index.words, word));
  for (uint32_t p = 0; p < reads.positions; ++p)
    STI_RETURN_IF_ERROR(check(index.positions, index.info.position_offset + p));
  return {};
}

Status SumEmbeddings(const ContainerIndex& index, const EmbeddingReads& reads,
                     std::span<const uint8_t> blocks, std::span<const uint32_t> ids,
                     std::span<const uint32_t> types, std::span<const float> type_rows,
                     const std::string& file, float* hidden) {
  size_t width = index.info.shape.hidden;
  for (uint32_t p = 0; p < ids.size(); ++p) {
    float* sum = hidden + p * width;
    // Word, then type, then position: the order in which the reference implementations add.
    std::fill(sum, sum + width, 0.0F);
    const RowTable& words = index.words;
    const uint8_t* word = Locate(reads, blocks, words.offset + uint64_t{ids[p]} * words.row_bytes);
    STI_RETURN_IF_ERROR(AddCheckedRow(words, ids[p], word, file, sum));
    const float* type = &type_rows[types[p] * width];
    for (size_t i = 0; i < width; ++i) sum[i] += type[i];
    const RowTable& positions = index.positions;
    const uint32_t row = index.info.position_offset + p;
    const uint8_t* position =
        Locate(reads, blocks, positions.offset + uint64_t{row} * positions.row_bytes);
    STI_RETURN_IF_ERROR(AddCheckedRow(positions, row, position, file, sum));
  }
  return {};
}

}  // namespace sti
