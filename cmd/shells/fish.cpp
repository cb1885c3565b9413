#include "common/cli.h"
#include "shells/command.h"

namespace sti {
namespace {

using CLI::detail::join;

// Options of `complete` that say what is offered as a value.
std::string Values(const Offer& offer) {
  switch (offer.kind) {
    case Offer::Kind::kWords:
      return " -x -a " + Quoted(join(offer.words, " "));
    case Offer::Kind::kFiles:
      return " -r -F";
    case Offer::Kind::kFolders:
      return " -x -a '(__fish_complete_directories)'";
    case Offer::Kind::kNothing:
      break;
  }
  return " -x";
}

// Lines for the options of a command; `begin` has the tool, and when they are offered.
std::string Lines(const CompletedCommand& command, const std::string& begin) {
  std::string text;
  for (const CompletedOption& option : command.options) {
    text += begin;
    for (const std::string& name : option.names)
      text += name.size() > 2 ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.value.empty()) text += Values(option.offer);
    text += " -d " + Quoted(option.description) + "\n";
  }
  // Without a line for them fish offers files.
  if (!command.positionals.empty() && command.positionals[0].offer.kind == Offer::Kind::kFolders)
    text += begin + Values(command.positionals[0].offer) + "\n";
  return text;
}

}  // namespace

std::string FishCompletion(const CompletedCommand& tool) {
  const std::string begin = "complete -c " + tool.name;
  std::string text = "# fish completion of " + tool.name + ", made from its options.\n";
  if (tool.subcommands.empty()) return text + Lines(tool, begin);
  std::string names;
  for (const CompletedCommand& part : tool.subcommands) {
    names += " " + part.name;
    text += begin + " -n __fish_use_subcommand -a " + part.name + " -d " +
            Quoted(part.description) + "\n" +
            Lines(part, begin + " -n '__fish_seen_subcommand_from " + part.name + "'");
  }
  return text + Lines(tool, begin + " -n 'not __fish_seen_subcommand_from" + names + "'");
}

}  // namespace sti
