// A table is a data file that has one row a line, the same cells in each. It is spelled in one of
// two ways. With tabs, as GLUE publishes its sets: a tab always separates, a line feed always ends
// the row, and a quote is a character. With commas, as RFC 4180 has it: a field in double quotes
// may hold commas and line feeds, and a quote as two.
#pragma once

#include <string>
#include <string_view>

#include "text/dataset/row.h"

namespace sti {

enum class TableSpelling : uint8_t { kTabs, kCommas };

/// Returns the spelling of the table `content` in a file called `name`: its first line tells by a
/// tab or a comma. One that has neither is a single column, quoted where the name ends in ".csv".
TableSpelling SpellingOf(std::string_view content, std::string_view name);

/// Takes rows off the front of a table. All cells are texts.
class TableReader {
 public:
  /// Reads `content`, which outlives the reader; `name` is the file's, for messages.
  TableReader(std::string_view content, const std::string& name, TableSpelling spelling)
      : rest_(content), name_(name), spelling_(spelling) {}

  /// Reads the next row into `row`, whose memory is used again; false at the end. DataError for a
  /// row that is longer than kMaxDatasetLineBytes or has more than kMaxDatasetColumns, and for
  /// quotes that break RFC 4180.
  Result<bool> Next(Row* row);

 private:
  [[nodiscard]] Status TakeTabs(Row* row);
  [[nodiscard]] Status TakeCommas(Row* row);
  [[nodiscard]] Result<size_t> TakeQuoted(std::string_view window, size_t begin, Cell* cell) const;
  [[nodiscard]] Result<Cell*> NextCell(Row* row);
  [[nodiscard]] Error Bad(const std::string& what) const { return BadLine(name_, line_, what); }
  [[nodiscard]] Error TooLong() const;

  std::string_view rest_;
  const std::string& name_;
  TableSpelling spelling_;
  uint64_t line_ = 1;  // that the next row begins on
  size_t cells_ = 0;   // of the row at hand
};

}  // namespace sti
