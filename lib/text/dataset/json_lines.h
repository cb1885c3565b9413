// JSON Lines is a data file that has one JSON object a line, whose keys name its cells. Objects may
// differ in their keys. Lines without anything are skipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/dataset/row.h"

namespace sti {

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
