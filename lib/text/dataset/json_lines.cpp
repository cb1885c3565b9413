#include "text/dataset/json_lines.h"

#include <nlohmann/json.hpp>

#include "base/json_parse.h"
#include "text/dataset.h"

namespace sti {
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

}  // namespace sti
