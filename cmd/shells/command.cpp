#include "shells/command.h"

#include "common/cli.h"
#include "common/help.h"

namespace sti {
namespace {

Offer OfferFor(const ValueWords& value) {
  if (!value.choices.empty()) return {Offer::Kind::kWords, value.choices};
  const std::string first = value.name.substr(0, value.name.find(','));
  if (first == kFile) return {Offer::Kind::kFiles, {}};
  if (first == kFolder) return {Offer::Kind::kFolders, {}};
  return {};
}

CompletedOption CompletedOptionOf(const CLI::Option& option) {
  const ValueWords value = ValueWordsOf(option);
  const std::string name = option.nonpositional() ? value.name : option.get_name(true);
  return {NamesOf(option), option.get_description(), name, OfferFor(value),
          option.get_expected_max() > 1};
}

}  // namespace

CompletedCommand CompletedCommandOf(const CLI::App& app) {
  CompletedCommand command{app.get_name(), app.get_description(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    auto& list = option->nonpositional() ? command.options : command.positionals;
    list.push_back(CompletedOptionOf(*option));
  }
  for (const CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; })) {
    CompletedCommand& subcommand = command.subcommands.emplace_back(CompletedCommandOf(*part));
    // A subcommand takes the options that all tools have; its help is its own.
    for (const CLI::Option* option : app.get_options()) {
      const bool is_help = option == app.get_help_ptr() || option == app.get_help_all_ptr();
      if (option->get_group() == kCommon && !is_help)
        subcommand.options.push_back(CompletedOptionOf(*option));
    }
  }
  return command;
}

std::string Quoted(const std::string& text) {
  return "'" + CLI::detail::find_and_replace(text, "'", "'\\''") + "'";
}

}  // namespace sti
