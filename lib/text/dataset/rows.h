// A data file, however it is spelled, is a list of rows, and a row is a list of cells. Readers of
// the two spellings make rows. A table has one row a line, the same cells in each. JSON Lines has
// one JSON object a line, whose keys name its cells; objects may differ in their keys, and lines
// without anything are skipped. What the cells of a row mean is decided elsewhere (columns.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"

namespace sti {

/// The most columns of a row.
inline constexpr size_t kMaxDatasetColumns = 1024;

/// Returns a DataError for content that is no UTF-8 text but a file that a spreadsheet or a packer
/// makes, by what it begins with; `name` is the file's.
Status CheckIsText(std::string_view content, const std::string& name);

/// Warns `log`, unless it is empty, of the first line that is not UTF-8: such bytes count as
/// U+FFFD, so that a letter of another encoding is lost.
void WarnOfOtherEncodings(std::string_view content, const std::string& name, const LogSink& log);

/// One value of a row.
struct Cell {
  enum class Kind : uint8_t {
    kText,
    kNumber,    ///< a whole number of JSON, as it is written
    kFraction,  ///< another number of JSON
    kList,      ///< a list of JSON that has texts and whole numbers only
    kOther,     ///< anything else of JSON, which is neither a text, a label nor a score
  };
  Kind kind = Kind::kText;
  std::string text;               ///< the value of kText, kNumber and kFraction
  std::vector<std::string> list;  ///< the entries of kList
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

/// Returns whether a line is one JSON object and nothing else.
bool IsJsonObject(std::string_view line);

/// Takes objects off the front of JSON Lines.
class JsonLinesReader {
 public:
  /// Reads `content`, which outlives the reader; `name` is the file's, for messages.
  JsonLinesReader(std::string_view content, const std::string& name)
      : rest_(content), name_(name) {}

  /// Reads the next object into `row` and its keys, ascending, into `names`; false at the end. A
  /// key whose value is null counts as missing. DataError for a line that is longer than
  /// kMaxDatasetLineBytes, nests too deep, is no object, has a key twice, or more than
  /// kMaxDatasetColumns.
  Result<bool> Next(Row* row, std::vector<std::string>* names);

 private:
  [[nodiscard]] Status TakeObject(std::string_view line, Row* row, std::vector<std::string>* names);

  std::string_view rest_;
  const std::string& name_;
  uint64_t line_ = 0;  // that was read last
};

}  // namespace sti
