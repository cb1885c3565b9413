// CLI11, and what this project adds to it. It is costly to compile, so only the files that declare
// options include this header; all others see `Tool` (common/tool.h).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "common/parse.h"

namespace sti {

/// The group of the options that the short help (-h) shows too. Where an option is declared,
/// `->group(kMostUsed)` puts it there; --help shows those of all groups.
inline constexpr const char* kMostUsed = "Most used";
/// The group of the options that only --help shows: all that no group is named for.
inline constexpr const char* kLessUsed = "Options";
/// The group of the options that all tools have and take beside whatever else is given.
inline constexpr const char* kCommon = "Common";

/// Names of values that are files and folders: shells complete them.
inline constexpr const char* kFile = "FILE";
inline constexpr const char* kFolder = "DIR";

/// Adds an option whose value is of a kind (common/parse.h) and goes into `target`. A value that
/// the kind refuses ends parsing with its message, as an error of usage.
template <typename T, typename Value>
CLI::Option* AddParsed(CLI::App& app, const std::string& flags, T& target,
                       const ValueKind<Value>& kind, const std::string& help) {
  return app
      .add_option_function<std::string>(
          flags,
          [&target, &kind, flags](const std::string& text) {
            auto value = kind.parse(text);
            if (!value.ok()) throw CLI::ValidationError(flags, value.error().Message());
            target = *value;
          },
          help)
      ->type_name(kind.name);
}

/// One of the words that an option takes, and what it stands for.
template <typename T>
struct Choice {
  const char* word;
  T value;
};

/// Adds an option that takes one of `words`, and calls `take` with the index of the one given. Any
/// other word ends parsing with an error of usage that lists them.
CLI::Option* AddWords(CLI::App& app, const std::string& flags,
                      const std::vector<const char*>& words, std::function<void(size_t)> take,
                      const std::string& help);

/// Adds an option that takes one of `choices`, which outlive the parser, and puts what it stands
/// for into `target` (AddWords).
template <typename Target, typename T, size_t N>
CLI::Option* AddChoice(CLI::App& app, const std::string& flags, Target& target,
                       const Choice<T> (&choices)[N], const std::string& help) {
  std::vector<const char*> words;
  for (const Choice<T>& choice : choices) words.push_back(choice.word);
  const auto take = [&target, &choices](size_t at) { target = choices[at].value; };
  return AddWords(app, flags, words, take, help);
}

}  // namespace sti
