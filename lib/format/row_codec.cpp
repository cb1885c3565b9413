#include "format/row_codec.h"

#include "base/digest.h"
#include "base/little_endian.h"
#include "kernels/load_value.h"

namespace sti {
namespace {

// The row's number is the seed, so that a row read from another row's place does not pass.
uint32_t RowChecksum(uint32_t row, std::span<const uint8_t> values) {
  return static_cast<uint32_t>(Checksum(values, row));
}

}  // namespace

void SealRow(uint32_t row, std::span<uint8_t> bytes) {
  auto values = bytes.first(bytes.size() - kRowChecksumBytes);
  StoreLittle<uint32_t>(&bytes[values.size()], RowChecksum(row, values));
}

Status CheckRow(const RowTable& table, uint32_t row, std::span<const uint8_t> bytes,
                const std::string& file) {
  auto values = bytes.first(bytes.size() - kRowChecksumBytes);
  if (RowChecksum(row, values) == LoadLittle<uint32_t>(&bytes[values.size()])) return {};
  return DataError(file + ": " + (table.kind == RowTableKind::kWord ? "word" : "position") +
                   " embedding row " + std::to_string(row) +
                   " is damaged; copy the file again or run sti-shard");
}

void AddRow(const RowTable& table, std::span<const uint8_t> bytes, float* sum) {
  for (uint32_t i = 0; i < table.columns; ++i) {
    sum[i] += LoadValue(table.type, &bytes[size_t{i} * BytesOf(table.type)]);
  }
}

}  // namespace sti
