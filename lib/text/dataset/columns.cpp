#include "text/dataset/columns.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "base/remedy.h"
#include "text/dataset/row.h"

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

Error NoLabel() { return BadColumns("no label; labels are needed here"); }

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

Status FindLabel(std::span<const std::string> names, const ColumnChoice& chosen,
                 bool labels_required, Columns* columns) {
  std::string_view found = chosen.label;
  for (const std::string_view known : kLabels) {
    if (!chosen.label.empty() || !Has(names, known)) continue;
    if (!found.empty()) {
      return BadColumns("labels in " + InQuotes(found) + " and in " + InQuotes(known));
    }
    found = known;
  }
  if (!found.empty()) {
    STI_ASSIGN_OR_RETURN(columns->label, Find(names, found));
    return {};
  }
  if (!labels_required) return {};
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
                            bool labels_required) {
  Columns columns;
  STI_RETURN_IF_ERROR(FindTexts(names, chosen, &columns));
  STI_RETURN_IF_ERROR(FindLabel(names, chosen, labels_required, &columns));
  if (chosen.text.empty()) STI_RETURN_IF_ERROR(FindUnread(names, &columns));
  return columns;
}

Result<Columns> NumberedColumns(size_t count, const ColumnChoice& chosen, bool labels_required) {
  Columns columns;
  STI_RETURN_IF_ERROR(FindNumber(chosen.text, count, &columns.text));
  if (!chosen.pair.empty()) {
    STI_RETURN_IF_ERROR(FindNumber(chosen.pair, count, &columns.pair.emplace()));
  }
  if (!chosen.label.empty()) {
    STI_RETURN_IF_ERROR(FindNumber(chosen.label, count, &columns.label.emplace()));
  } else if (labels_required) {
    return NoLabel();
  }
  return columns;
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

}  // namespace sti
