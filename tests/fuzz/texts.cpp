#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "fuzz/targets.h"
#include "image/image_file.h"
#include "score/spans.h"
#include "support/offset_rules.h"
#include "support/test_tokenizer.h"
#include "text/dataset.h"
#include "text/tagged_texts.h"
#include "text/windows.h"
#include "types/model_info.h"

namespace sti::fuzz {
namespace {

// A data set whose labels are those that occur in it.
void LabelsThatOccur(const std::string& content, const std::string& name,
                     const ColumnChoice& columns) {
  const auto rows = ParseLabelledRows(content, name, columns, {});
  if (!rows.ok()) return RequireDataError(rows.error());
  std::vector<bool> occurs(rows->labels.size());
  for (const Example& example : rows->examples) {
    Require(example.label.has_value() && *example.label < occurs.size(), "every row has a label");
    occurs[*example.label] = true;
  }
  Require(std::ranges::count(occurs, false) == 0, "every label occurs");
  Require(std::ranges::is_sorted(rows->labels), "labels ascend");
  Require(ProblemOfLabels(rows->labels).empty(), "labels are such as a model may have");
}

// The bytes as a data set of a file with this name, its columns found or chosen.
void Dataset(Input input, const std::string& name) {
  const std::string content = AsText(input);
  const std::vector<std::string> labels{"no", "yes", "7"};
  const ColumnChoice choices[] = {
      {}, {"sentence1", "sentence2", "label"}, {"2", "", "1"}, {"", "", "label"}};
  for (const ColumnChoice& columns : choices) {
    for (const bool required : {false, true}) {
      const auto examples =
          ParseDataset(content, name, {labels, Problem::kSingleLabel, required, columns});
      if (!examples.ok()) {
        RequireDataError(examples.error());
        continue;
      }
      Require(!examples->empty(), "a data set has examples");
      uint64_t bytes = 0;
      for (const Example& example : *examples) {
        Require(!required || example.label.has_value(), "every example has its label");
        Require(example.label.value_or(0) < labels.size(), "a label is one of the model's");
        bytes += example.text.size() + example.pair.value_or("").size();
      }
      Require(bytes <= content.size(), "no byte is read twice");
    }
    LabelsThatOccur(content, name, columns);
    const auto pairs = ParseDataset(content, name, {.columns = columns, .scores = true});
    if (!pairs.ok()) {
      RequireDataError(pairs.error());
      continue;
    }
    for (const Example& pair : *pairs) {
      Require(pair.pair && pair.score && std::isfinite(*pair.score), "a pair has a finite score");
      Require(!pair.Truth(), "and no label");
    }
  }
}

}  // namespace

void Tsv(Input input) { Dataset(input, "f.tsv"); }
void Csv(Input input) { Dataset(input, "f.csv"); }
void JsonLines(Input input) { Dataset(input, "f.jsonl"); }

void Tagged(Input input) {
  const std::string content = AsText(input);
  static const TagScheme model =
      *TagScheme::Of(std::vector<std::string>{"O", "B-PER", "I-PER", "B-LOC", "I-LOC"});
  const auto texts = ParseTaggedTexts(content, "f.conll", model, {});
  if (!texts.ok()) return RequireDataError(texts.error());
  Require(!texts->empty(), "a data set has texts");
  uint64_t bytes = 0;
  for (const Example& text : *texts) {
    const auto& [words, tags] = *text.tagged;
    Require(!words.empty() && words.size() == tags.size(), "every word has a tag");
    uint64_t end = 0;
    for (const ByteRange& word : words) {
      Require(word.begin >= end && word.end > word.begin, "words stand one behind another");
      end = word.end;
    }
    Require(end == text.text.size(), "the last word ends the text");
    for (const WordSpan& span : WordSpansOf(tags)) {
      Require(span.begin < span.end && span.end <= words.size(), "a span is of words");
      Require(span.kind >= model.size() && span.kind < model.names().size(), "a kind has a name");
    }
    bytes += text.text.size();
  }
  Require(bytes <= content.size(), "no byte is read twice");
}

void Text(Input input) {
  constexpr uint32_t kLength = 24;
  static const Tokenizer tokenizer = TinyTokenizer();
  const std::string text = AsText(input);
  const size_t tab = text.find('\t');
  std::optional<std::string_view> pair;
  if (tab != std::string::npos) pair = std::string_view(text).substr(tab + 1);
  const Encoding encoding = tokenizer.Encode(std::string_view(text).substr(0, tab), pair, kLength);
  Require(encoding.ids.size() >= 2 && encoding.ids.size() <= kLength, "ids fit the length");
  Require(encoding.types.size() == encoding.ids.size(), "every id has a type");
  for (const uint32_t id : encoding.ids) {
    Require(id < tokenizer.vocabulary().size(), "an id is in the vocabulary");
  }
  const std::string problem =
      ProblemOfOffsets(encoding, std::string_view(text).substr(0, tab), pair.value_or(""));
  Require(problem.empty(), problem.c_str());
  const Encoding whole =
      tokenizer.Encode(std::string_view(text).substr(0, tab), pair, kMostTextTokens);
  const auto windows = SplitIntoWindows(whole, {kLength, 5});
  if (!windows.ok()) return RequireDataError(windows.error());
  uint32_t counted = 0;
  for (const TextWindow& window : *windows) {
    Encoding part;
    EncodeWindow(whole, window, &part);
    Require(part.ids.size() <= kLength, "a window has its length at most");
    Require(window.own_begin == counted && window.own_end >= counted, "a token counts once");
    Require(window.first_row + window.own_end - window.own_begin <= part.ids.size(),
            "what counts in a window is in it");
    counted = window.own_end;
  }
  Require(counted == whole.ids.size(), "each token counts");
}

void Image(Input input) {
  const std::string file = AsText(input);
  const PixelScale scale{{0.5F, 0.25F, 0}, {0.5F, 1, 2}};
  for (const uint32_t channels : {1U, 3U}) {
    const ImageShape shape{12, 4, channels};
    const auto values = ReadImage(file, shape, scale);
    if (!values.ok()) {
      RequireDataError(values.error());
      continue;
    }
    Require(values->size() == shape.values(), "an image has the model's size");
    Require(std::ranges::all_of(*values, [](float value) { return std::isfinite(value); }),
            "an image has finite numbers");
  }
}

}  // namespace sti::fuzz
