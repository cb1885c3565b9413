#include "text/dataset.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/remedy.h"
#include "base/utf8.h"
#include "text/dataset/columns.h"
#include "text/dataset/rows.h"

namespace sti {
namespace {

constexpr uint64_t kRowsLookedAt = 100;  // for text in columns that nothing reads

bool IsNumber(std::string_view column) {
  return !column.empty() && column.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Makes examples of rows.
class Reader {
 public:
  Reader(const std::string& name, const DatasetRequest& request)
      : name_(name), request_(request), labels_(request.labels, request.problem) {}

  /// Reads all of a file. `finder` takes its labels; null: they are the request's.
  Status ReadAll(std::string_view content, LabelFinder* finder);

  Result<std::vector<Example>> Finish() {
    if (!examples_.empty()) return std::move(examples_);
    return DataError("no examples; give at least one line of data").At(name_);
  }

 private:
  [[nodiscard]] TruthColumn Truths() const {
    if (request_.scores) return TruthColumn::kScore;
    return request_.labels_required ? TruthColumn::kLabel : TruthColumn::kLabelIfThere;
  }
  // Returns an error about a line of the file.
  [[nodiscard]] Error Located(Error error, uint64_t line) const {
    return std::move(error).At(name_ + ":" + std::to_string(line));
  }
  Result<Columns> ColumnsOf(const Row& first, std::vector<std::string>* names) const;
  Status CheckUnread(const Row& row, const std::vector<std::string>& names, const Columns& columns,
                     uint64_t line) const;
  Status ReadTable(std::string_view content);
  Status ReadJsonLines(std::string_view content);
  Status Add(Row& row, const Columns& columns);

  const std::string& name_;
  const DatasetRequest& request_;
  LabelReader labels_;
  LabelFinder* finder_ = nullptr;
  std::vector<Example> examples_;
};

// The columns of a table, and their names unless they are numbered.
Result<Columns> Reader::ColumnsOf(const Row& first, std::vector<std::string>* names) const {
  const ColumnChoice& chosen = request_.columns;
  if (chosen.numbered()) {
    return NumberedColumns(first.cells.size(), chosen, Truths());
  }
  for (const Cell& cell : first.cells) names->push_back(cell.text);
  return FindColumns(*names, chosen, Truths());
}

// The error is about the line that names the columns.
Status Reader::CheckUnread(const Row& row, const std::vector<std::string>& names,
                           const Columns& columns, uint64_t line) const {
  if (examples_.size() >= kRowsLookedAt) return {};
  for (const size_t i : columns.unread) {
    const Cell& cell = row.cells[i];
    if (cell.kind == Cell::Kind::kText && LooksLikeText(cell.text)) {
      return Located(LeftOut(names[i]), line);
    }
  }
  return {};
}

Status Reader::Add(Row& row, const Columns& columns) {
  if (examples_.size() == kMaxDatasetRows) {
    return BadLine(name_, row.line, "more than 16777216 rows; split the file");
  }
  Example& example = examples_.emplace_back();
  for (const auto& index : {std::optional(columns.text), columns.pair}) {
    if (!index) continue;
    if (row.cells[*index].kind != Cell::Kind::kText) {
      return BadLine(name_, row.line, "the text is not a string");
    }
    std::string& text = index == columns.pair ? example.pair.emplace() : example.text;
    text = row.cells[*index].text;
  }
  if (!columns.label) return {};
  const Cell& label = row.cells[*columns.label];
  if (request_.scores) {
    auto score = ScoreOf(label);
    if (!score.ok()) return Located(score.error(), row.line);
    example.score = *score;
    return {};
  }
  Status labelled =
      finder_ != nullptr ? finder_->Read(label, &example) : labels_.Read(label, &example);
  if (labelled.ok()) return {};
  if (request_.labels_required) return Located(labelled.error(), row.line);
  // One that cannot be used is as good as none: the data may be of another task.
  example.label.reset();
  example.labels.reset();
  return {};
}

Status Reader::ReadTable(std::string_view content) {
  TableReader table(content, name_, SpellingOf(content, name_));
  std::vector<std::string> names;
  Columns columns;
  size_t count = 0;  // of columns, once they are known
  Row row;
  while (true) {
    STI_ASSIGN_OR_RETURN(const bool more, table.Next(&row));
    if (!more) return {};
    if (count == 0) {
      count = row.cells.size();
      auto found = ColumnsOf(row, &names);
      if (!found.ok()) return Located(found.error(), row.line);
      columns = *std::move(found);
      if (!request_.columns.numbered()) continue;
    }
    const bool blank = row.cells.size() == 1 && row.cells[0].text.empty();
    if (blank && count != 1) continue;
    if (row.cells.size() != count) {
      return BadLine(name_, row.line,
                     std::to_string(row.cells.size()) + " columns, but the first line has " +
                         std::to_string(count) + "; mend the line");
    }
    STI_RETURN_IF_ERROR(CheckUnread(row, names, columns, 1));
    STI_RETURN_IF_ERROR(Add(row, columns));
  }
}

Status Reader::ReadJsonLines(std::string_view content) {
  JsonLinesReader lines(content, name_);
  std::vector<std::string> names;
  Row row;
  while (true) {
    STI_ASSIGN_OR_RETURN(const bool more, lines.Next(&row, &names));
    if (!more) return {};
    auto columns = FindColumns(names, request_.columns, Truths());
    if (!columns.ok()) return Located(columns.error(), row.line);
    STI_RETURN_IF_ERROR(CheckUnread(row, names, *columns, row.line));
    STI_RETURN_IF_ERROR(Add(row, *columns));
  }
}

Status Reader::ReadAll(std::string_view content, LabelFinder* finder) {
  finder_ = finder;
  STI_RETURN_IF_ERROR(CheckColumnChoice(request_.columns));
  content = WithoutByteOrderMark(content);
  STI_RETURN_IF_ERROR(CheckIsText(content, name_));
  const size_t first = content.find_first_not_of(" \t\r\n");
  const bool braced = first != std::string_view::npos && content[first] == '{';
  const bool listed = first != std::string_view::npos && content[first] == '[';
  // A table without a header may begin with a text in brackets or braces.
  const bool numbered = request_.columns.numbered();
  const bool json = (braced || listed) && !numbered;
  if (braced && numbered &&
      IsJsonObject(content.substr(first, content.find('\n', first) - first))) {
    return DataError("JSON Lines has keys and no numbered columns; give the keys").At(name_);
  }
  WarnOfOtherEncodings(content, name_, request_.log);
  return json ? ReadJsonLines(content) : ReadTable(content);
}

}  // namespace

bool ColumnChoice::numbered() const { return IsNumber(text); }

Status CheckColumnChoice(const ColumnChoice& chosen) {
  const auto& [text, pair, label] = chosen;
  if (text.empty() && !pair.empty()) {
    return UsageError("the pair's column is given without the text's; give both");
  }
  if ((!text.empty() && (text == pair || text == label)) || (!pair.empty() && pair == label)) {
    return UsageError("text, pair and label are different columns; give each its own");
  }
  for (const std::string& other : {pair, label}) {
    if (!other.empty() && IsNumber(other) != chosen.numbered()) {
      return UsageError("columns have names, or numbers where a file has no header; give one kind");
    }
  }
  return {};
}

Result<std::vector<Example>> ParseDataset(std::string_view content, const std::string& name,
                                          const DatasetRequest& request) {
  Reader reader(name, request);
  STI_RETURN_IF_ERROR(reader.ReadAll(content, nullptr));
  return reader.Finish();
}

Result<LabelledRows> ParseLabelledRows(std::string_view content, const std::string& name,
                                       const ColumnChoice& columns, const LogSink& log) {
  const DatasetRequest request{.columns = columns, .log = log};
  Reader reader(name, request);
  LabelFinder finder;
  STI_RETURN_IF_ERROR(reader.ReadAll(content, &finder));
  LabelledRows rows;
  STI_ASSIGN_OR_RETURN(rows.examples, reader.Finish());
  rows.labels = finder.Finish(rows.examples);
  return rows;
}

Digest DigestOfRows(std::span<const Example> examples, std::span<const std::string> labels) {
  Digester digester;
  for (const Example& example : examples) {
    digester.Add(example.text);
    digester.AddNumber(example.pair ? 1 : 0);
    digester.Add(example.pair.value_or(""));
    const std::vector<uint32_t> truth = example.Truth().value_or(std::vector<uint32_t>{});
    digester.AddNumber(truth.size());
    for (const uint32_t label : truth) digester.Add(labels[label]);
    if (example.score) digester.AddNumber(std::bit_cast<uint64_t>(*example.score));
  }
  return digester.Finish();
}

}  // namespace sti
