#include "fuzz/targets.h"
#include "support/test_tokenizer.h"
#include "text/dataset.h"

namespace sti::fuzz {
namespace {

void Dataset(Input input) {
  const std::string content = AsText(input);
  const std::vector<std::string> labels{"no", "yes", "7"};
  for (const bool required : {false, true}) {
    const auto examples = ParseDataset(content, "f", labels, required);
    if (!examples.ok()) {
      RequireDataError(examples.error());
      continue;
    }
    Require(!examples->empty(), "a data set has examples");
    for (const Example& example : *examples) {
      Require(!required || example.label.has_value(), "every example has its label");
      Require(example.label.value_or(0) < labels.size(), "a label is one of the model's");
    }
  }
}

}  // namespace

void Tsv(Input input) { Dataset(input); }
void JsonLines(Input input) { Dataset(input); }

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
}

}  // namespace sti::fuzz
