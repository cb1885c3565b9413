// The bytes of an embedding row (spec/container.md, "Row tables").
//
// Eight-bit rows: rows hold single values far larger than the others, which a codebook of clusters
// would average away, so codes are uniform against the row's largest magnitude m. Code c stands for
// the middle of its step, (c - 127.5) m / 128.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "format/container_index.h"

namespace sti {

inline constexpr uint32_t kRowChecksumBytes = 4;

/// Returns the bytes of a stored row of `columns` values, checksum included.
uint32_t RowBytes(uint32_t columns, DataType type, RowCoding coding);

/// Stores `values`, a row as in the source, all finite, in `row`, of RowBytes; without the
/// checksum.
void EncodeRow(const RowTable& table, std::span<const uint8_t> values, std::span<uint8_t> row);

/// Puts the checksum of row number `row` behind its values; `bytes` is the whole stored row.
void SealRow(uint32_t row, std::span<uint8_t> bytes);

/// Returns a DataError naming `file` and the row unless its checksum is right and its step, where
/// it is coded, a finite number of at least 0; `bytes` is the whole row.
Status CheckRow(const RowTable& table, uint32_t row, std::span<const uint8_t> bytes,
                const std::string& file);

/// Returns a DataError unless the values of a checked row are finite. For who verifies a file:
/// whoever runs a model finds such a row by what comes out.
Status CheckRowValues(const RowTable& table, uint32_t row, std::span<const uint8_t> bytes,
                      const std::string& file);

/// Adds the values of a checked row to `sum` [columns].
void AddRow(const RowTable& table, std::span<const uint8_t> bytes, float* sum);

}  // namespace sti
