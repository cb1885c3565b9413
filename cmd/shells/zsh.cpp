#include "common/cli.h"
#include "shells/command.h"

namespace sti {
namespace {

using CLI::detail::find_and_replace;
using CLI::detail::join;

// Returns the action of _arguments where the value stands.
std::string Action(const Offer& offer) {
  switch (offer.kind) {
    case Offer::Kind::kWords:
      return "(" + join(offer.words, " ") + ")";
    case Offer::Kind::kFiles:
      return "_files";
    case Offer::Kind::kFolders:
      return "_files -/";
    case Offer::Kind::kNothing:
      break;
  }
  return " ";
}

// A description between brackets, where colons have a meaning too.
std::string Described(std::string text) {
  for (const char* special : {"[", "]", ":"})
    text = find_and_replace(text, special, std::string("\\") + special);
  return "[" + text + "]";
}

// An argument of _arguments for each of the names; the others are no more offered once it is given.
std::string Specifications(const CompletedOption& option) {
  const bool takes_value = !option.value.empty();
  const std::string others = option.names.size() > 1 ? "(" + join(option.names, " ") + ")" : "";
  const std::string value =
      takes_value ? ":" + find_and_replace(option.value, ":", "\\:") + ":" + Action(option.offer)
                  : "";
  std::string text;
  for (const std::string& name : option.names) {
    const bool is_word = name.size() > 2;
    text += " \\\n    " +
            Quoted((option.repeats ? "*" : others) + name + (takes_value && is_word ? "=" : "") +
                   Described(option.description) + value);
  }
  return text;
}

std::string Arguments(const CompletedCommand& command, bool is_subcommand) {
  std::string text = "  _arguments";
  for (const CompletedOption& option : command.options) text += Specifications(option);
  size_t place = 1;
  if (is_subcommand)
    text += " \\\n    " + Quoted(std::to_string(place++) + ": :(" + command.name + ")");
  for (const CompletedOption& positional : command.positionals) {
    // Beside a word that nothing is offered for, options would not be offered either.
    if (positional.offer.kind == Offer::Kind::kNothing) continue;
    std::string action = Action(positional.offer);
    if (!command.subcommands.empty()) {
      std::string parts;
      for (const CompletedCommand& part : command.subcommands) parts += " " + part.name;
      action = "{compadd --" + parts + "; " + action + "}";
    }
    const std::string where = positional.repeats ? "*" : std::to_string(place++);
    text += " \\\n    " + Quoted(where + ":" + positional.value + ":" + action);
  }
  return text + "\n";
}

}  // namespace

std::string ZshCompletion(const CompletedCommand& tool) {
  std::string text = "#compdef " + tool.name + "\n# Made from the options of " + tool.name + ".\n";
  std::string function = "_" + find_and_replace(tool.name, "-", "_");
  text += function + "() {\n  local line state\n  local -A opt_args\n";
  if (!tool.subcommands.empty()) {
    text += "  local given\n  for given in ${words[2,CURRENT-1]}; do\n    case $given in\n";
    for (const CompletedCommand& part : tool.subcommands)
      text += "    (" + part.name + ")\n" + Arguments(part, true) + "  return ;;\n";
    text += "    esac\n  done\n";
  }
  return text + Arguments(tool, false) + "}\n" + function + " \"$@\"\n";
}

}  // namespace sti
