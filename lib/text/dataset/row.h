// A data file, however it is spelled, is a list of rows, and a row is a list of cells. Readers of
// the spellings make rows (table.h, json_lines.h); what the cells of a row mean is decided
// elsewhere (columns.h, labels.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sti {

/// The most columns of a row.
inline constexpr size_t kMaxDatasetColumns = 1024;

/// One value of a row.
struct Cell {
  enum class Kind : uint8_t {
    kText,
    kNumber,  ///< a whole number of JSON, as it is written
    kList,    ///< a list of JSON that has texts and whole numbers only
    kOther,   ///< anything else of JSON, which is neither a text nor a label
  };
  Kind kind = Kind::kText;
  std::string text;               ///< of kText and kNumber
  std::vector<std::string> list;  ///< of kList
};

/// One row, and the line of the file that it begins on, from 1.
struct Row {
  uint64_t line = 0;
  std::vector<Cell> cells;
};

/// Returns the error that `what` is wrong on a line of the file `name`.
inline Error BadLine(const std::string& name, uint64_t line, const std::string& what) {
  return DataError(what).At(name + ":" + std::to_string(line));
}

/// Returns a name or label from a file in quotes, cut where it is long.
inline std::string InQuotes(std::string_view text) {
  return "\"" + std::string(text.substr(0, 64)) + "\"";
}

}  // namespace sti
