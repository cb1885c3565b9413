#include "common/option_words.h"

#include <algorithm>
#include <utility>

#include "common/cli.h"

namespace sti {
namespace {

// Returns the text between the two, without them; empty if they are not there.
std::string Between(const std::string& text, char open, char close) {
  const size_t begin = text.find(open);
  const size_t end = text.find(close);
  if (begin == std::string::npos || end == std::string::npos || end < begin) return "";
  return text.substr(begin + 1, end - begin - 1);
}

}  // namespace

CLI::Option* AddWords(CLI::App& app, const std::string& flags,
                      const std::vector<const char*>& words, std::function<void(size_t)> take,
                      const std::string& help) {
  const auto find = [words, take = std::move(take)](const std::string& word) {
    take(static_cast<size_t>(std::find(words.begin(), words.end(), word) - words.begin()));
  };
  return app.add_option_function<std::string>(flags, find, help)
      ->check(CLI::IsMember(words))
      ->type_name("");
}

ValueWords ValueWordsOf(const CLI::Option& option) {
  ValueWords words;
  if (option.get_type_size() == 0) return words;
  // The parser says "NAME:CHECK", where the check is "{a,b}" or "INT in [1 - 256]".
  const std::string type = option.get_type_name();
  const std::string choices = Between(type, '{', '}');
  if (!choices.empty()) words.choices = CLI::detail::split(choices, ',');
  words.range = Between(type, '[', ']');
  const size_t dash = words.range.find(" - ");
  if (dash != std::string::npos) words.range.replace(dash, 3, " to ");
  words.name = type.substr(0, type.find(':'));
  if (words.name.empty() && !choices.empty()) words.name = "{" + choices + "}";
  return words;
}

std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& letter : option.get_snames()) names.push_back("-" + letter);
  for (const std::string& word : option.get_lnames()) names.push_back("--" + word);
  return names;
}

}  // namespace sti
