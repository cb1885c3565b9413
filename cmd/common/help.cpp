#include "common/help.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "common/cli.h"
#include "common/lines.h"

namespace sti {
namespace {

constexpr size_t kColumn = 26;  // where what is said of a word begins

// A word on the left, what is said of it on the right; below the word where that is long.
std::string Entry(const std::string& word, const std::string& said) {
  const std::string indent(kColumn, ' ');
  std::string line = "  " + word;
  std::string above;
  if (line.size() + 2 > kColumn) {
    above = line + "\n";
    line.clear();
  }
  line.resize(kColumn, ' ');
  return above + Wrapped(line + said, indent) + "\n";
}

std::string Joined(const std::vector<std::string>& names) { return CLI::detail::join(names, ", "); }

std::string WithValue(const std::string& name, const CLI::Option& option) {
  const std::string value = ValueWordsOf(option).name;
  return value.empty() ? name : name + " " + value;
}

std::string DescriptionOf(const CLI::Option& option) {
  std::string said = option.get_description();
  const std::string range = ValueWordsOf(option).range;
  if (!range.empty()) said += " (" + range + ")";
  if (!option.get_default_str().empty()) said += " [" + option.get_default_str() + "]";
  return said;
}

std::vector<const CLI::Option*> Positionals(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

// The tool's own options come before those that all tools have.
std::vector<const CLI::Option*> Options(const CLI::App& app, bool all) {
  auto options = app.get_options([&](const CLI::Option* option) {
    return option->nonpositional() && (all || option->get_group() == kMostUsed);
  });
  std::stable_partition(options.begin(), options.end(), [&](const CLI::Option* option) {
    return option->get_group() != kCommon && option != app.get_help_ptr() &&
           option != app.get_help_all_ptr();
  });
  return options;
}

std::string Usage(const CLI::App& app, const std::string& name) {
  std::string line = "Usage: " + name;
  for (const CLI::Option* option : Positionals(app)) {
    std::string word = option->get_name(true);
    if (option->get_expected_max() > 1) word += "...";
    line += option->get_required() ? " " + word : " [" + word + "]";
  }
  for (const CLI::Option* option : Options(app, true)) {
    if (option->get_required()) line += " " + WithValue(NamesOf(*option)[0], *option);
  }
  return line + " [OPTIONS]\n";
}

// As ExitCode in remedies.h has it.
std::string ExitCodes() {
  return "\nExit codes:\n" + Entry("0", "done") +
         Entry("1", "the machine failed: a read, a write, or memory is short") +
         Entry("2", "the options are wrong") +
         Entry("3", "a file is missing, damaged, of another version, or does not belong") +
         Entry("4", "what is asked for cannot be met, or a gate failed");
}

}  // namespace

std::string HelpText(const CLI::App& app, const std::string& name, bool all) {
  std::string text = Wrapped(app.get_description()) + "\n" + Usage(app, name);
  const auto subcommands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* subcommand : subcommands)
    text += "   or: " + name + " " + subcommand->get_name() + " ...\n";
  text += "\n";
  for (const CLI::Option* option : Positionals(app))
    text += Entry(option->get_name(true), DescriptionOf(*option));
  for (const CLI::App* subcommand : subcommands)
    text += Entry(subcommand->get_name(), subcommand->get_description());
  const auto options = Options(app, all);
  if (!options.empty()) text += "\nOptions:\n";
  for (const CLI::Option* option : options)
    text += Entry(WithValue(Joined(NamesOf(*option)), *option), DescriptionOf(*option));
  if (all) text += ExitCodes();
  text += "\nExample:\n  " + app.get_footer() + "\n";
  return all ? text : text + "\n" + name + " --help shows all options.\n";
}

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

size_t SlipsBetween(std::string_view a, std::string_view b) {
  // Rows of the table of all beginnings of `a` against all of `b`: this one and the two above it.
  std::vector<size_t> above2;
  std::vector<size_t> above;
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    above2 = std::move(above);
    above = std::move(row);
    row.assign(b.size() + 1, i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t other = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({other, above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], above2[j - 2] + 1);
    }
  }
  return row.back();
}

std::string NearestWord(std::string_view typed, const std::vector<std::string>& words) {
  size_t fewest = typed.size() / 3 + 1;
  std::string nearest;
  for (const std::string& word : words) {
    const size_t slips = SlipsBetween(typed, word);
    if (slips >= fewest) continue;
    fewest = slips;
    nearest = word;
  }
  return nearest;
}

}  // namespace sti
