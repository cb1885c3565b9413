// The bytes of an embedding row (spec/container.md, "Row tables").
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "format/container_index.h"

namespace sti {

inline constexpr uint32_t kRowChecksumBytes = 4;

/// Puts the checksum of row number `row` behind its values; `bytes` is the whole stored row.
void SealRow(uint32_t row, std::span<uint8_t> bytes);

/// DataError naming `file` and the row unless its checksum is right; `bytes` is the whole row.
Status CheckRow(const RowTable& table, uint32_t row, std::span<const uint8_t> bytes,
                const std::string& file);

/// Adds the values of a checked row to `sum` [columns].
void AddRow(const RowTable& table, std::span<const uint8_t> bytes, float* sum);

}  // namespace sti
