#include "base/remedy.h"

#include <algorithm>

namespace sti {
namespace {

std::string InOptions(std::string_view text, std::span<const AdviceWords::Option> options) {
  const std::string_view letters = "abcdefghijklmnopqrstuvwxyz_";
  std::string named;
  while (!text.empty()) {
    const size_t length = std::min(text.find_first_not_of(letters), text.size());
    const std::string_view word = text.substr(0, std::max<size_t>(length, 1));
    const auto option = std::find_if(options.begin(), options.end(),
                                     [&](const auto& o) { return o.field == word; });
    named += option == options.end() ? word : option->name;
    text.remove_prefix(word.size());
  }
  return named;
}

}  // namespace

std::string WithAdvice(std::string line, Remedy remedy, std::string_view value,
                       const AdviceWords& words) {
  const auto sentence = std::find_if(words.sentences.begin(), words.sentences.end(),
                                     [&](const auto& s) { return s.remedy == remedy; });
  if (sentence == words.sentences.end()) return line;
  std::string advice(sentence->text);
  const size_t at = advice.find("{}");
  if (at != std::string::npos) advice.replace(at, 2, InOptions(value, words.options));
  return line + "; " + advice;
}

}  // namespace sti
