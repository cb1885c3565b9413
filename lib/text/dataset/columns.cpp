#include "text/dataset/columns.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>

#include "base/remedy.h"
#include "base/utf8.h"
#include "text/dataset/rows.h"
#include "types/limits.h"

namespace sti {
namespace {

struct TextNames {
  std::string_view text;
  std::string_view pair;  ///< empty: none
};

// The first of these whose names are all there is read: a pair before a text that stands alone.
constexpr TextNames kTexts[] = {
    {"sentence1", "sentence2"},  // RTE, MNLI, WNLI
    {"question", "sentence"},    // QNLI
    {"question1", "question2"},  // QQP
    {"#1 String", "#2 String"},  // MRPC
    {"premise", "hypothesis"},   // MNLI as Hugging Face has it
    {"text", "pair"},
    {"sentence", ""},  // SST-2
    {"text", ""},
    {"sentence1", ""},
};

constexpr std::string_view kLabels[] = {
    "label",
    "gold_label",    // MNLI, among the labels of single annotators
    "Quality",       // MRPC
    "is_duplicate",  // QQP
};

constexpr std::string_view kScores[] = {
    "score",             // STS-B
    "similarity_score",  // STS-B as a few have it
    "label",             // STS-B as Hugging Face has it
};

// MNLI has its sentences three times.
constexpr std::string_view kParses[] = {"sentence1_parse", "sentence2_parse",
                                        "sentence1_binary_parse", "sentence2_binary_parse"};

Error BadColumns(const std::string& what) { return DataError(what).Fix(Remedy::kNameColumns); }

bool Has(std::span<const std::string> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns the first few names, in quotes.
std::string Listed(std::span<const std::string> names) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + InQuotes(names[i]);
  }
  return names.size() > kShown ? text + ", ..." : text;
}

// Returns where the one column of this name is.
Result<size_t> Find(std::span<const std::string> names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return BadColumns("no column is called " + InQuotes(name));
  if (std::find(found + 1, names.end(), name) != names.end()) {
    return BadColumns("two columns are called " + InQuotes(name));
  }
  return static_cast<size_t>(found - names.begin());
}

constexpr const char* kNoLabelHere = "no label; labels are needed here";

Error NoLabel() { return BadColumns(kNoLabelHere); }
Error NoScore() { return BadColumns("no score; pairs of texts with scores are needed here"); }
Error NoPair() { return BadColumns("no second text; pairs of texts with scores are needed here"); }

Status FindTexts(std::span<const std::string> names, const ColumnChoice& chosen, Columns* columns) {
  TextNames found{chosen.text, chosen.pair};
  for (const TextNames& known : kTexts) {
    if (!found.text.empty()) break;
    if (Has(names, known.text) && (known.pair.empty() || Has(names, known.pair))) found = known;
  }
  if (found.text.empty()) {
    return BadColumns("no text such as \"sentence\" or \"text\" among " + Listed(names));
  }
  STI_ASSIGN_OR_RETURN(columns->text, Find(names, found.text));
  if (found.pair.empty()) return {};
  STI_ASSIGN_OR_RETURN(columns->pair, Find(names, found.pair));
  return {};
}

Status FindTruth(std::span<const std::string> names, const ColumnChoice& chosen, TruthColumn truth,
                 Columns* columns) {
  const bool scores = truth == TruthColumn::kScore;
  if (scores && !columns->pair) return NoPair();
  std::string_view found = chosen.label;
  for (const std::string_view known : scores ? std::span<const std::string_view>(kScores)
                                             : std::span<const std::string_view>(kLabels)) {
    if (!chosen.label.empty() || !Has(names, known)) continue;
    if (!found.empty()) {
      return BadColumns(std::string(scores ? "scores" : "labels") + " in " + InQuotes(found) +
                        " and in " + InQuotes(known));
    }
    found = known;
  }
  if (!found.empty()) {
    STI_ASSIGN_OR_RETURN(columns->label, Find(names, found));
    return {};
  }
  if (truth == TruthColumn::kLabelIfThere) return {};
  if (scores) return NoScore();
  if (Has(names, "score")) {  // STS-B
    return DataError(
        "\"score\" is a number to predict, and regression is not supported; "
        "give a set with labels");
  }
  return NoLabel();
}

bool IsKnownText(std::string_view name) {
  return std::any_of(std::begin(kTexts), std::end(kTexts), [&](const TextNames& known) {
    return name == known.text || (name == known.pair && !known.pair.empty());
  });
}

// Notes what is left over where the caller has not chosen the texts.
Status FindUnread(std::span<const std::string> names, Columns* columns) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == columns->text || i == columns->pair || i == columns->label) continue;
    if (IsKnownText(names[i])) return LeftOut(names[i]);
    if (std::find(std::begin(kParses), std::end(kParses), names[i]) == std::end(kParses)) {
      columns->unread.push_back(i);
    }
  }
  return {};
}

Status FindNumber(const std::string& number, size_t count, size_t* index) {
  const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), *index);
  if (failed != std::errc() || end != number.data() + number.size() || *index == 0 ||
      *index > count) {
    return BadColumns("no column " + number.substr(0, 20) + ", the first line has " +
                      std::to_string(count));
  }
  --*index;
  return {};
}

}  // namespace

Error LeftOut(std::string_view name) {
  return BadColumns("nothing would read the text in " + InQuotes(name));
}

Result<Columns> FindColumns(std::span<const std::string> names, const ColumnChoice& chosen,
                            TruthColumn truth) {
  Columns columns;
  STI_RETURN_IF_ERROR(FindTexts(names, chosen, &columns));
  STI_RETURN_IF_ERROR(FindTruth(names, chosen, truth, &columns));
  if (chosen.text.empty()) STI_RETURN_IF_ERROR(FindUnread(names, &columns));
  return columns;
}

Result<Columns> NumberedColumns(size_t count, const ColumnChoice& chosen, TruthColumn truth) {
  Columns columns;
  STI_RETURN_IF_ERROR(FindNumber(chosen.text, count, &columns.text));
  if (!chosen.pair.empty()) {
    STI_RETURN_IF_ERROR(FindNumber(chosen.pair, count, &columns.pair.emplace()));
  }
  const bool scores = truth == TruthColumn::kScore;
  if (scores && !columns.pair) return NoPair();
  if (!chosen.label.empty()) {
    STI_RETURN_IF_ERROR(FindNumber(chosen.label, count, &columns.label.emplace()));
  } else if (truth != TruthColumn::kLabelIfThere) {
    return scores ? NoScore() : NoLabel();
  }
  return columns;
}

Result<double> ScoreOf(const Cell& cell) {
  const bool is_number = cell.kind == Cell::Kind::kText || cell.kind == Cell::Kind::kNumber ||
                         cell.kind == Cell::Kind::kFraction;
  double score = 0;
  const char* begin = cell.text.data();
  const char* end = begin + cell.text.size();
  const auto [at, failed] = std::from_chars(begin, end, score);
  if (is_number && failed == std::errc() && at == end && std::isfinite(score)) return score;
  return DataError("the score is " +
                   (cell.text.empty() ? "missing" : "no number: " + InQuotes(cell.text)));
}

bool LooksLikeText(std::string_view cell) {
  constexpr size_t kBytesOfWords = 12;  // four characters of most scripts that have no blanks
  size_t words = 0;
  size_t beyond_ascii = 0;
  bool in_word = false;
  for (const char c : cell) {
    const bool wide = static_cast<unsigned char>(c) >= 0x80;
    const bool letter = wide || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c == ' ') in_word = false;
    if (letter && !in_word) {
      ++words;
      in_word = true;
    }
    beyond_ascii += wide ? 1 : 0;
  }
  return words >= 2 || beyond_ascii >= kBytesOfWords;
}

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
  const bool other = cell.kind == Cell::Kind::kOther || cell.kind == Cell::Kind::kFraction;
  if (other || (list && !several_)) {
    return DataError("the label is neither a name nor an id");
  }
  if (list) {
    example->labels.emplace();
    for (const std::string& label : cell.list) {
      STI_RETURN_IF_ERROR(AddTo(label, &*example->labels));
    }
    return {};
  }
  if (cell.text.empty()) return DataError(kNoLabelHere);
  if (several_) return ReadSet(cell.text, &example->labels.emplace());
  STI_ASSIGN_OR_RETURN(example->label, Find(cell.text));
  return {};
}

Status LabelFinder::Read(const Cell& cell, Example* example) {
  const bool is_name = cell.kind == Cell::Kind::kText || cell.kind == Cell::Kind::kNumber;
  if (!is_name) return DataError("the label is neither a name nor a number");
  const std::string& name = cell.text;
  if (name.empty()) return DataError(kNoLabelHere);
  if (!IsPrintable(name)) {
    return DataError("the label " + InQuotes(MakePrintable(name)) +
                     " is not UTF-8 or has a control character");
  }
  if (name.front() == ' ' || name.back() == ' ') {
    return DataError("the label " + InQuotes(name) + " begins or ends with a blank; leave it out");
  }
  const auto [found, is_new] = found_.emplace(name, static_cast<uint32_t>(found_.size()));
  if (is_new && found_.size() > kMaxLabels) return DataError("more than 65536 labels");
  example->label = found->second;
  return {};
}

std::vector<std::string> LabelFinder::Finish(std::span<Example> examples) const {
  std::vector<std::string> names;
  std::vector<uint32_t> ids(found_.size());  // by the number of the first row
  for (const auto& [name, first] : found_) {
    ids[first] = static_cast<uint32_t>(names.size());
    names.push_back(name);
  }
  for (Example& example : examples) example.label = ids[*example.label];
  return names;
}

}  // namespace sti
