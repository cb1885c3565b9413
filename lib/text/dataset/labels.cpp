#include "text/dataset/labels.h"

#include <algorithm>
#include <charconv>

namespace sti {

LabelReader::LabelReader(const std::vector<std::string>& labels, Problem problem)
    : labels_(labels), several_(problem == Problem::kMultiLabel) {
  for (uint32_t i = 0; i < labels.size(); ++i) ids_.emplace(labels[i], i);
}

std::string LabelReader::Known() const {
  if (YesOrNo()) return labels_[0] + " or 1 where it applies, and 0 or - where it does not";
  std::string text;
  const size_t shown = std::min<size_t>(labels_.size(), 5);
  for (size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + labels_[i];
  if (shown < labels_.size()) text += ", ...";
  return text + " or an id below " + std::to_string(labels_.size());
}

// A name comes before an id: a label may be called "0".
Result<uint32_t> LabelReader::Find(std::string_view label) const {
  if (const auto found = ids_.find(label); found != ids_.end()) return found->second;
  uint32_t id = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), id);
  if (error == std::errc() && end == label.data() + label.size() && id < labels_.size()) return id;
  return DataError("label " + InQuotes(label) + " is none of the model's; use " + Known());
}

Status LabelReader::AddTo(std::string_view label, std::vector<uint32_t>* ids) const {
  const size_t begin = std::min(label.find_first_not_of(' '), label.size());
  label = label.substr(begin, label.find_last_not_of(' ') + 1 - begin);
  STI_ASSIGN_OR_RETURN(const uint32_t id, Find(label));
  const auto at = std::lower_bound(ids->begin(), ids->end(), id);
  if (at == ids->end() || *at != id) ids->insert(at, id);
  return {};
}

Status LabelReader::ReadSet(std::string_view text, std::vector<uint32_t>* ids) const {
  if (ids_.count(text) != 0) return AddTo(text, ids);
  if (text == "-" || (YesOrNo() && text == "0")) return {};
  if (YesOrNo() && text == "1") return AddTo(labels_[0], ids);
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    STI_RETURN_IF_ERROR(AddTo(text.substr(0, comma), ids));
    if (comma == text.size()) return {};
    text.remove_prefix(comma + 1);
  }
}

Status LabelReader::Read(const Cell& cell, Example* example) const {
  const bool list = cell.kind == Cell::Kind::kList;
  if (cell.kind == Cell::Kind::kOther || (list && !several_)) {
    return DataError("the label is neither a name nor an id");
  }
  if (list) {
    example->labels.emplace();
    for (const std::string& label : cell.list) {
      STI_RETURN_IF_ERROR(AddTo(label, &*example->labels));
    }
    return {};
  }
  if (cell.text.empty()) return DataError("no label; labels are needed here");
  if (several_) return ReadSet(cell.text, &example->labels.emplace());
  STI_ASSIGN_OR_RETURN(example->label, Find(cell.text));
  return {};
}

}  // namespace sti
