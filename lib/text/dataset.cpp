#include "text/dataset.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/json_depth.h"

namespace sti {
namespace {

using Json = nlohmann::json;

/// Where in the file we are; the word for it in messages is "file:line".
struct Place {
  const std::string& name;
  uint64_t line = 0;

  [[nodiscard]] Error Bad(const std::string& what) const {
    return DataError(what).At(name + ":" + std::to_string(line));
  }
};

/// Takes lines off the front of the content, without their ends.
class ContentLines {
 public:
  explicit ContentLines(std::string_view content) : rest_(content) {}

  bool Next(std::string_view* line) {
    if (rest_.empty()) return false;
    const size_t newline = rest_.find('\n');
    *line = rest_.substr(0, newline);
    rest_.remove_prefix(newline == std::string_view::npos ? rest_.size() : newline + 1);
    if (line->ends_with('\r')) line->remove_suffix(1);
    return true;
  }

 private:
  std::string_view rest_;
};

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// Turns a label as written into an index.
class LabelTable {
 public:
  explicit LabelTable(const std::vector<std::string>& labels) : labels_(labels) {
    for (uint32_t i = 0; i < labels.size(); ++i) ids_.emplace(labels[i], i);
  }

  [[nodiscard]] bool IsName(std::string_view label) const { return ids_.count(label) != 0; }

  [[nodiscard]] Result<uint32_t> Find(std::string_view label, const Place& place) const {
    if (const auto found = ids_.find(label); found != ids_.end()) return found->second;
    uint32_t id = 0;
    const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), id);
    if (error == std::errc() && end == label.data() + label.size() && id < labels_.size()) {
      return id;
    }
    return place.Bad("label \"" + std::string(label.substr(0, 64)) +
                     "\" is none of the model's; use " + Known());
  }

 private:
  [[nodiscard]] std::string Known() const {
    std::string text;
    const size_t shown = std::min<size_t>(labels_.size(), 5);
    for (size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + labels_[i];
    if (shown < labels_.size()) text += ", ...";
    return text + " or an id below " + std::to_string(labels_.size());
  }

  const std::vector<std::string>& labels_;
  std::unordered_map<std::string_view, uint32_t> ids_;
};

/// What both spellings share: the place, the labels, the limits and the examples so far.
class Parser {
 public:
  Parser(const std::string& name, const std::vector<std::string>& labels, bool labels_required,
         Problem problem)
      : place_{name},
        labels_(labels),
        labels_required_(labels_required),
        several_(problem == Problem::kMultiLabel) {}

  Status ParseJsonLines(std::string_view content);
  Status ParseTable(std::string_view content);

  Result<std::vector<Example>> Finish() {
    if (!examples_.empty()) return std::move(examples_);
    return DataError("no examples; give at least one line of data").At(place_.name);
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  struct Columns {
    size_t text = kNone;
    size_t pair = kNone;
    size_t label = kNone;
    size_t count = 0;
  };

  Status CheckLine(std::string_view line);
  Status AddObject(const Json& object);
  Result<std::optional<std::string>> TextOf(const Json& object, const char* key) const;
  Status OrUnlabelled(Status labelled, Example* example) const;
  Status SetJsonLabel(const Json& object, Example* example) const;
  Status SetJsonLabels(const Json& list, Example* example) const;
  Status SetLabel(std::string_view label, Example* example) const;
  Status SetLabels(std::string_view text, Example* example) const;
  Status AddLabel(std::string_view label, Example* example) const;
  Status ReadHeader(std::string_view line);
  Status AddRow(std::string_view line);
  Status Add(Example example);

  Place place_;
  LabelTable labels_;
  bool labels_required_;
  bool several_;  ///< an example may have any number of labels
  Columns columns_;
  std::vector<Example> examples_;
};

std::vector<std::string_view> SplitTabs(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const size_t tab = line.find('\t');
    cells.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return cells;
    line.remove_prefix(tab + 1);
  }
}

Status Parser::CheckLine(std::string_view line) {
  ++place_.line;
  if (line.size() <= kMaxDatasetLineBytes) return {};
  return place_.Bad("the line is longer than 1 MiB; split or shorten it");
}

Status Parser::Add(Example example) {
  if (examples_.size() == kMaxDatasetRows) {
    return place_.Bad("more than 16777216 rows; split the file");
  }
  examples_.push_back(std::move(example));
  return {};
}

// Where no labels are needed, one that cannot be used is as good as none: the data may be of
// another task.
Status Parser::OrUnlabelled(Status labelled, Example* example) const {
  if (labelled.ok() || labels_required_) return labelled;
  example->label.reset();
  example->labels.reset();
  return {};
}

Status Parser::SetLabel(std::string_view label, Example* example) const {
  if (label.empty()) return place_.Bad("no label; labels are needed here");
  if (several_) return SetLabels(label, example);
  STI_ASSIGN_OR_RETURN(example->label, labels_.Find(label, place_));
  return {};
}

Status Parser::SetLabels(std::string_view text, Example* example) const {
  example->labels.emplace();
  if (labels_.IsName(text)) return AddLabel(text, example);
  if (text == "-") return {};
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    STI_RETURN_IF_ERROR(AddLabel(text.substr(0, comma), example));
    if (comma == text.size()) return {};
    text.remove_prefix(comma + 1);
  }
}

Status Parser::AddLabel(std::string_view label, Example* example) const {
  const size_t begin = std::min(label.find_first_not_of(' '), label.size());
  label = label.substr(begin, label.find_last_not_of(' ') + 1 - begin);
  STI_ASSIGN_OR_RETURN(const uint32_t id, labels_.Find(label, place_));
  std::vector<uint32_t>& ids = *example->labels;
  const auto at = std::lower_bound(ids.begin(), ids.end(), id);
  if (at == ids.end() || *at != id) ids.insert(at, id);
  return {};
}

Status Parser::SetJsonLabel(const Json& object, Example* example) const {
  const auto found = object.find("label");
  if (found == object.end() || found->is_null()) return SetLabel("", example);
  if (found->is_string()) return SetLabel(found->get_ref<const std::string&>(), example);
  if (found->is_number_integer()) return SetLabel(found->dump(), example);
  if (found->is_array() && several_) return SetJsonLabels(*found, example);
  return place_.Bad("the label is neither a name nor an id");
}

Status Parser::SetJsonLabels(const Json& list, Example* example) const {
  example->labels.emplace();
  for (const Json& label : list) {
    if (!label.is_string() && !label.is_number_integer()) {
      return place_.Bad("the list of labels has what is neither a name nor an id");
    }
    STI_RETURN_IF_ERROR(
        AddLabel(label.is_string() ? label.get<std::string>() : label.dump(), example));
  }
  return {};
}

Result<std::optional<std::string>> Parser::TextOf(const Json& object, const char* key) const {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::optional<std::string>();
  if (!found->is_string()) return place_.Bad(std::string(key) + " is not a string");
  return std::optional<std::string>(found->get<std::string>());
}

Status Parser::AddObject(const Json& object) {
  constexpr const char* kKeys[][2] = {
      {"sentence1", "sentence2"}, {"sentence", nullptr}, {"text", "pair"}};
  for (const auto& [text_key, pair_key] : kKeys) {
    STI_ASSIGN_OR_RETURN(auto text, TextOf(object, text_key));
    if (!text) continue;
    Example example;
    example.text = *std::move(text);
    if (pair_key != nullptr) {
      STI_ASSIGN_OR_RETURN(example.pair, TextOf(object, pair_key));
    }
    STI_RETURN_IF_ERROR(OrUnlabelled(SetJsonLabel(object, &example), &example));
    return Add(std::move(example));
  }
  return place_.Bad("no text; give \"sentence\", \"sentence1\" and \"sentence2\", or \"text\"");
}

Status Parser::ParseJsonLines(std::string_view content) {
  ContentLines lines(content);
  std::string_view line;
  while (lines.Next(&line)) {
    STI_RETURN_IF_ERROR(CheckLine(line));
    if (IsBlank(line)) continue;
    if (JsonIsTooDeep(line)) return place_.Bad("JSON nested too deep; mend the line");
    const Json object = Json::parse(line.begin(), line.end(), nullptr, false);
    if (!object.is_object()) return place_.Bad("not a JSON object; give one object a line");
    STI_RETURN_IF_ERROR(AddObject(object));
  }
  return {};
}

Status Parser::ReadHeader(std::string_view line) {
  const auto names = SplitTabs(line);
  columns_.count = names.size();
  const auto column = [&](std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? kNone : static_cast<size_t>(found - names.begin());
  };
  const auto either = [](size_t first, size_t second) { return first == kNone ? second : first; };
  columns_.pair = column("sentence2");
  columns_.text = columns_.pair == kNone ? column("sentence") : column("sentence1");
  if (columns_.text == kNone && columns_.pair == kNone) {
    columns_.text = either(column("text"), column("sentence1"));
    columns_.pair = column("pair");
  }
  columns_.label = column("label");
  if (columns_.text == kNone) {
    return place_.Bad(
        "the header names no text; give a tab-separated header with \"sentence\", "
        "or \"sentence1\" and \"sentence2\"");
  }
  if (columns_.label == kNone && labels_required_) {
    return place_.Bad("the header names no \"label\"; labels are needed here");
  }
  return {};
}

Status Parser::AddRow(std::string_view line) {
  const auto cells = SplitTabs(line);
  if (cells.size() != columns_.count) {
    return place_.Bad(std::to_string(cells.size()) + " columns, but the header has " +
                      std::to_string(columns_.count) + "; mend the line");
  }
  Example example;
  example.text = cells[columns_.text];
  if (columns_.pair != kNone) example.pair = cells[columns_.pair];
  if (columns_.label != kNone) {
    STI_RETURN_IF_ERROR(OrUnlabelled(SetLabel(cells[columns_.label], &example), &example));
  }
  return Add(std::move(example));
}

Status Parser::ParseTable(std::string_view content) {
  ContentLines lines(content);
  std::string_view line;
  while (lines.Next(&line)) {
    STI_RETURN_IF_ERROR(CheckLine(line));
    if (place_.line == 1) {
      STI_RETURN_IF_ERROR(ReadHeader(line));
    } else if (!line.empty() || columns_.count == 1) {
      STI_RETURN_IF_ERROR(AddRow(line));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Example>> ParseDataset(std::string_view content, const std::string& name,
                                          const std::vector<std::string>& labels,
                                          bool labels_required, Problem problem) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (content.starts_with(kByteOrderMark)) content.remove_prefix(kByteOrderMark.size());
  Parser parser(name, labels, labels_required, problem);
  const size_t first = content.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && content[first] == '{';
  STI_RETURN_IF_ERROR(json ? parser.ParseJsonLines(content) : parser.ParseTable(content));
  return parser.Finish();
}

}  // namespace sti
