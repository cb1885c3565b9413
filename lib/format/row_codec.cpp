#include "format/row_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/digest.h"
#include "base/half.h"
#include "base/little_endian.h"
#include "base/remedy.h"
#include "types/finite.h"

namespace sti {
namespace {

// The row's number is the seed, so that a row read from another row's place does not pass.
uint32_t RowChecksum(uint32_t row, std::span<const uint8_t> values) {
  return static_cast<uint32_t>(Checksum(values, row));
}

std::string RowName(const RowTable& table, uint32_t row) {
  return std::string(table.kind == RowTableKind::kWord ? "word" : "position") + " embedding row " +
         std::to_string(row);
}

constexpr uint32_t kStepBytes = sizeof(float);
constexpr float kHalfCodes = 128;
constexpr float kMiddle = 127.5F;  // of step 0, counted from the lowest

}  // namespace

uint32_t RowBytes(uint32_t columns, DataType type, RowCoding coding) {
  const bool exact = coding == RowCoding::kExact;
  return (exact ? columns * BytesOf(type) : columns + kStepBytes) + kRowChecksumBytes;
}

void EncodeRow(const RowTable& table, std::span<const uint8_t> values, std::span<uint8_t> row) {
  if (table.coding == RowCoding::kExact) {
    std::copy(values.begin(), values.end(), row.begin());
    return;
  }
  const uint32_t width = BytesOf(table.type);
  float largest = 0;
  for (uint32_t i = 0; i < table.columns; ++i) {
    largest = std::max(largest, std::abs(LoadValue(table.type, &values[size_t{i} * width])));
  }
  const float step = largest / kHalfCodes;
  for (uint32_t i = 0; i < table.columns; ++i) {
    const float value = LoadValue(table.type, &values[size_t{i} * width]);
    const float code = step > 0 ? std::floor(value / step) + kHalfCodes : 0;
    row[i] = static_cast<uint8_t>(std::clamp(code, 0.0F, 255.0F));
  }
  StoreLittle<uint32_t>(&row[table.columns], std::bit_cast<uint32_t>(step));
}

void SealRow(uint32_t row, std::span<uint8_t> bytes) {
  auto values = bytes.first(bytes.size() - kRowChecksumBytes);
  StoreLittle<uint32_t>(&bytes[values.size()], RowChecksum(row, values));
}

Status CheckRow(const RowTable& table, uint32_t row, std::span<const uint8_t> bytes,
                const std::string& file) {
  auto values = bytes.first(bytes.size() - kRowChecksumBytes);
  if (RowChecksum(row, values) != LoadLittle<uint32_t>(&bytes[values.size()])) {
    return DataError(RowName(table, row) + " is damaged").At(file).Fix(Remedy::kCopyModelAgain);
  }
  if (table.coding == RowCoding::kExact) return {};
  const float step = LoadF32(&bytes[table.columns]);
  if (std::isfinite(step) && step >= 0) return {};
  return DataError(RowName(table, row) + " has an impossible step")
      .At(file)
      .Fix(Remedy::kMakeModelAgain);
}

Status CheckRowValues(const RowTable& table, uint32_t row, std::span<const uint8_t> bytes,
                      const std::string& file) {
  const auto values = bytes.first(bytes.size() - kRowChecksumBytes);
  const bool finite = table.coding == RowCoding::kExact
                          ? AllFinite(table.type, values)
                          : std::isfinite(kMiddle * LoadF32(&bytes[table.columns]));
  if (finite) return {};
  return DataError(RowName(table, row) + " holds a number that is not finite")
      .At(file)
      .Fix(Remedy::kMakeModelAgain);
}

void AddRow(const RowTable& table, std::span<const uint8_t> bytes, float* sum) {
  if (table.coding == RowCoding::kEightBit) {
    const float step = LoadF32(&bytes[table.columns]);
    for (uint32_t i = 0; i < table.columns; ++i) {
      sum[i] += (static_cast<float>(bytes[i]) - kMiddle) * step;
    }
    return;
  }
  for (uint32_t i = 0; i < table.columns; ++i) {
    sum[i] += LoadValue(table.type, &bytes[size_t{i} * BytesOf(table.type)]);
  }
}

}  // namespace sti
