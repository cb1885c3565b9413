#include "text/tagged_texts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "text/dataset.h"
#include "text/dataset/rows.h"

namespace sti {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kDocument = "-DOCSTART-";

/// Returns a tag without the letter and dash that may be in front of its kind.
std::string_view WithoutPlace(std::string_view tag) {
  return tag.size() > 2 && tag[1] == '-' ? tag.substr(2) : tag;
}

/// Reads texts line by line. Tags get their meaning once all are known, as they are of one scheme.
class TaggedReader {
 public:
  TaggedReader(const std::string& name, const TagScheme& model) : name_(name), model_(model) {}

  Status Read(std::string_view content);
  Result<std::vector<Example>> Finish();

 private:
  Status TakeLine(std::string_view line);
  Status TakeWord(std::string_view word, std::string_view tag);
  [[nodiscard]] bool IsOfModel(std::string_view tag) const;
  [[nodiscard]] Result<std::vector<Tag>> Meanings() const;
  [[nodiscard]] Error Bad(const std::string& what) const { return BadLine(name_, line_, what); }

  const std::string& name_;
  const TagScheme& model_;
  uint64_t line_ = 0;
  uint64_t words_ = 0;
  bool in_text_ = false;
  std::vector<Example> texts_;
  std::vector<uint32_t> tags_of_words_;  ///< [words], into `tags_`
  std::vector<std::string> tags_;        ///< each once
  std::vector<uint64_t> first_lines_;    ///< of each tag
  std::unordered_map<std::string, uint32_t> numbers_;
};

Status TaggedReader::Read(std::string_view content) {
  while (!content.empty()) {
    ++line_;
    const size_t end = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > kMaxDatasetLineBytes) return Bad("a line longer than 1 MiB; mend the file");
    STI_RETURN_IF_ERROR(TakeLine(line));
  }
  return {};
}

Status TaggedReader::TakeLine(std::string_view line) {
  const size_t first = line.find_first_not_of(kBlanks);
  if (first == std::string_view::npos || line.substr(first).starts_with(kDocument)) {
    in_text_ = false;
    return {};
  }
  line = line.substr(first, line.find_last_not_of(kBlanks) + 1 - first);
  const size_t behind = line.find_last_of(kBlanks);
  const std::string_view tag = behind == std::string_view::npos ? "" : line.substr(behind + 1);
  if (line.front() == '#' && !IsOfModel(tag)) return {};
  if (tag.empty()) return Bad("a word without a tag; end the line with one");
  return TakeWord(line.substr(0, line.find_first_of(kBlanks)), tag);
}

bool TaggedReader::IsOfModel(std::string_view tag) const {
  return tag == kOutsideLabel || model_.FindKind(tag) || model_.FindKind(WithoutPlace(tag));
}

Status TaggedReader::TakeWord(std::string_view word, std::string_view tag) {
  if (++words_ > kMaxDatasetRows) return Bad("more than 16777216 words; split the file");
  if (!std::exchange(in_text_, true)) texts_.emplace_back().tagged.emplace();
  Example& text = texts_.back();
  if (!text.text.empty()) text.text += ' ';
  const uint64_t begin = text.text.size();
  text.text += word;
  if (text.text.size() > kMaxDatasetLineBytes)
    return Bad("a text longer than 1 MiB; part it by an empty line");
  text.tagged->words.push_back(RangeOf(begin, text.text.size()));
  const auto [known, added] =
      numbers_.emplace(std::string(tag), static_cast<uint32_t>(tags_.size()));
  if (added) {
    tags_.emplace_back(tag);
    first_lines_.push_back(line_);
  }
  tags_of_words_.push_back(known->second);
  return {};
}

// Returns the meaning of each tag, with the model's number of its kind.
Result<std::vector<Tag>> TaggedReader::Meanings() const {
  auto scheme = TagScheme::Of(tags_);
  if (!scheme.ok()) return Error(scheme.error()).At(name_);
  std::vector<Tag> meanings;
  for (uint32_t number = 0; number < tags_.size(); ++number) {
    Tag tag = (*scheme)[number];
    if (tag.place != TagPlace::kOutside) {
      const auto kind = model_.FindKind(scheme->names()[tag.kind]);
      if (!kind) {
        return BadLine(name_, first_lines_[number],
                       "the tag " + InQuotes(MakePrintable(tags_[number])) +
                           " is of no kind that the model knows; give data for this model");
      }
      tag.kind = *kind;
    }
    meanings.push_back(tag);
  }
  return meanings;
}

Result<std::vector<Example>> TaggedReader::Finish() {
  if (texts_.empty())
    return DataError("no words with tags; give a file in CoNLL's columns").At(name_);
  STI_ASSIGN_OR_RETURN(const std::vector<Tag> meanings, Meanings());
  auto tag = tags_of_words_.begin();
  for (Example& text : texts_) {
    std::vector<Tag>& tags = text.tagged->tags;
    tags.reserve(text.tagged->words.size());
    while (tags.size() < text.tagged->words.size()) tags.push_back(meanings[*tag++]);
  }
  return std::move(texts_);
}

}  // namespace

Result<std::vector<Example>> ParseTaggedTexts(std::string_view content, const std::string& name,
                                              const TagScheme& model, const LogSink& log) {
  content = WithoutByteOrderMark(content);
  STI_RETURN_IF_ERROR(CheckIsText(content, name));
  WarnOfOtherEncodings(content, name, log);
  TaggedReader reader(name, model);
  STI_RETURN_IF_ERROR(reader.Read(content));
  return reader.Finish();
}

Digest DigestOfTagged(std::span<const Example> texts, const TagScheme& model) {
  Digester digester;
  for (const Example& text : texts) {
    const std::vector<Tag>& tags = text.tagged->tags;
    digester.Add(text.text);
    digester.AddNumber(tags.size());
    for (size_t word = 0; word < tags.size(); ++word) {
      const Tag& tag = tags[word];
      const bool outside = tag.place == TagPlace::kOutside;
      const bool goes_on = word > 0 && GoesOn(tags[word - 1], tag);
      digester.AddNumber(outside ? 0 : goes_on ? 1 : 2);
      digester.Add(outside ? std::string_view() : std::string_view(model.names()[tag.kind]));
    }
  }
  return digester.Finish();
}

}  // namespace sti
