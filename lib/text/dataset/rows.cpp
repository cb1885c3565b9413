#include "text/dataset/rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/utf8.h"
#include "text/dataset.h"

namespace sti {
namespace {

constexpr size_t kNone = std::string_view::npos;

}  // namespace

TableSpelling SpellingOf(std::string_view content, std::string_view name) {
  const std::string_view line = content.substr(0, content.find('\n'));
  if (line.find('\t') != kNone) return TableSpelling::kTabs;
  const bool commas = line.find(',') != kNone || name.ends_with(".csv");
  return commas ? TableSpelling::kCommas : TableSpelling::kTabs;
}

Error TableReader::TooLong() const {
  return Bad("the line is longer than 1 MiB; split or shorten it");
}

Result<bool> TableReader::Next(Row* row) {
  if (rest_.empty()) return false;
  row->line = line_;
  cells_ = 0;
  STI_RETURN_IF_ERROR(spelling_ == TableSpelling::kTabs ? TakeTabs(row) : TakeCommas(row));
  row->cells.resize(cells_);
  return true;
}

Result<Cell*> TableReader::NextCell(Row* row) {
  if (cells_ == kMaxDatasetColumns) return Bad("more than 1024 columns; drop some");
  if (row->cells.size() == cells_) row->cells.emplace_back();
  Cell* cell = &row->cells[cells_++];
  cell->kind = Cell::Kind::kText;
  cell->text.clear();
  return cell;
}

Status TableReader::TakeTabs(Row* row) {
  const size_t newline = rest_.find('\n');
  std::string_view line = rest_.substr(0, newline);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > kMaxDatasetLineBytes) return TooLong();
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find('\t', begin), line.size());
    STI_ASSIGN_OR_RETURN(Cell * cell, NextCell(row));
    cell->text = line.substr(begin, end - begin);
    begin = end + 1;
  }
  rest_.remove_prefix(newline == kNone ? rest_.size() : newline + 1);
  ++line_;
  return {};
}

// Reads the field whose opening quote is at `begin`. Returns where its closing quote is.
Result<size_t> TableReader::TakeQuoted(std::string_view window, size_t begin, Cell* cell) const {
  size_t at = begin + 1;
  while (true) {
    const size_t quote = window.find('"', at);
    if (quote == kNone) {
      if (window.size() < rest_.size()) return TooLong();
      return Bad("a field in quotes does not end; close its quote, or double a quote inside it");
    }
    cell->text += window.substr(at, quote - at);
    if (quote + 1 == window.size() || window[quote + 1] != '"') return quote;
    cell->text += '"';
    at = quote + 2;
  }
}

// Looks no further than the longest row and its end, so that a quote that is never closed costs
// little.
Status TableReader::TakeCommas(Row* row) {
  const std::string_view window = rest_.substr(0, kMaxDatasetLineBytes + 2);
  size_t at = 0;  // of the field's first character, then of what ends it
  bool more = true;
  while (more) {
    STI_ASSIGN_OR_RETURN(Cell * cell, NextCell(row));
    if (at < window.size() && window[at] == '"') {
      STI_ASSIGN_OR_RETURN(const size_t quote, TakeQuoted(window, at, cell));
      at = quote + 1;
      if (window.substr(at, 2) == "\r\n" || window.substr(at) == "\r") ++at;
    } else {
      const size_t end = std::min(window.find_first_of(",\n\"", at), window.size());
      cell->text = window.substr(at, end - at);
      at = end;
      const bool last = at == window.size() || window[at] == '\n';
      if (last && cell->text.ends_with('\r')) cell->text.pop_back();
    }
    more = at < window.size() && window[at] == ',';
    if (more) ++at;
  }
  if (at == window.size() && window.size() < rest_.size()) return TooLong();
  if (at < window.size() && window[at] != '\n') {
    return Bad(
        "a quote inside a field; put the whole field in quotes, and double a quote inside it");
  }
  const size_t end = at > 0 && window[at - 1] == '\r' ? at - 1 : at;
  if (end > kMaxDatasetLineBytes) return TooLong();
  const std::string_view taken = window.substr(0, at + 1);
  line_ += static_cast<uint64_t>(std::count(taken.begin(), taken.end(), '\n'));
  rest_.remove_prefix(taken.size());
  return {};
}

namespace {

using Json = nlohmann::json;

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// Returns a text or a whole number as it is written; false for anything else.
bool ReadPlain(const Json& value, std::string* text) {
  if (value.is_string()) {
    *text = value.get_ref<const std::string&>();
  } else if (value.is_number_integer()) {
    *text = value.dump();
  } else {
    return false;
  }
  return true;
}

Cell CellOf(const Json& value) {
  Cell cell;
  if (ReadPlain(value, &cell.text)) {
    cell.kind = value.is_string() ? Cell::Kind::kText : Cell::Kind::kNumber;
    return cell;
  }
  if (value.is_number_float()) {
    cell.kind = Cell::Kind::kFraction;
    cell.text = value.dump();
    return cell;
  }
  cell.kind = value.is_array() ? Cell::Kind::kList : Cell::Kind::kOther;
  if (!value.is_array()) return cell;
  for (const Json& element : value) {
    cell.list.emplace_back();
    if (!ReadPlain(element, &cell.list.back())) {
      cell.kind = Cell::Kind::kOther;
      return cell;
    }
  }
  return cell;
}

}  // namespace

bool IsJsonObject(std::string_view line) {
  if (line.size() > kMaxDatasetLineBytes || JsonIsTooDeep(line)) return false;
  return Json::parse(line.begin(), line.end(), nullptr, false).is_object();
}

Result<bool> JsonLinesReader::Next(Row* row, std::vector<std::string>* names) {
  while (!rest_.empty()) {
    const size_t newline = rest_.find('\n');
    std::string_view line = rest_.substr(0, newline);
    rest_.remove_prefix(newline == std::string_view::npos ? rest_.size() : newline + 1);
    row->line = ++line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (IsBlank(line)) continue;
    STI_RETURN_IF_ERROR(TakeObject(line, row, names));
    return true;
  }
  return false;
}

Status JsonLinesReader::TakeObject(std::string_view line, Row* row,
                                   std::vector<std::string>* names) {
  const auto bad = [&](const char* what) { return BadLine(name_, line_, what); };
  if (line.size() > kMaxDatasetLineBytes) {
    return bad("the line is longer than 1 MiB; split or shorten it");
  }
  if (JsonIsTooDeep(line)) return bad("JSON nested too deep; mend the line");
  if (HasNulByte(line)) return bad("a NUL byte, which JSON has nowhere; mend the line");
  size_t keys = 0;
  const auto count_keys = [&](int depth, Json::parse_event_t event, const Json&) {
    keys += depth == 1 && event == Json::parse_event_t::key ? 1 : 0;
    return true;
  };
  const Json object = Json::parse(line.begin(), line.end(), count_keys, false);
  if (!object.is_object()) {
    const auto whole = ParseJson(line);
    return BadLine(name_, line_,
                   (whole.ok() ? "not a JSON object" : whole.error().what) +
                       std::string("; give one object a line"));
  }
  if (object.size() > kMaxDatasetColumns) return bad("more than 1024 keys; drop some");
  if (object.size() != keys) return bad("a key is there twice; mend the line");
  row->cells.clear();
  names->clear();
  for (const auto& [key, value] : object.items()) {
    if (value.is_null()) continue;
    names->push_back(key);
    row->cells.push_back(CellOf(value));
  }
  return {};
}

Status CheckIsText(std::string_view content, const std::string& name) {
  const struct {
    std::string_view begin;
    const char* what;
  } kinds[] = {
      {"\xFF\xFE", "is UTF-16; save it as UTF-8"},
      {"\xFE\xFF", "is UTF-16; save it as UTF-8"},
      {"\x1F\x8B", "is packed by gzip; unpack it first, or pipe it through zcat"},
      {"\x28\xB5\x2F\xFD", "is packed by zstd; unpack it first, or pipe it through zstdcat"},
      {"PK\x03\x04", "is a zip archive or a spreadsheet; save it as CSV in UTF-8"}};
  for (const auto& kind : kinds) {
    if (content.starts_with(kind.begin)) return DataError(kind.what).At(name);
  }
  return {};
}

void WarnOfOtherEncodings(std::string_view content, const std::string& name, const LogSink& log) {
  if (!log) return;
  uint64_t line = 1;
  for (std::string_view rest = content; !rest.empty(); ++line) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (!IsUtf8(rest.substr(0, end))) {
      log({LogLevel::kWarning, name + ":" + std::to_string(line) +
                                   ": not UTF-8, so letters are lost; save the file as UTF-8"});
      return;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

}  // namespace sti
