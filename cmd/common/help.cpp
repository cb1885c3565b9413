#include "common/help.h"

#include <algorithm>
#include <vector>

#include "common/cli.h"
#include "common/option_words.h"
#include "common/text.h"

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

}  // namespace sti
