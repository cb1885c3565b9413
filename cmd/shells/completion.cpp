#include "shells/completion.h"

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

namespace {

using CLI::detail::join;

// A command of bash that sets COMPREPLY to what fits the word that is being typed.
std::string Reply(const Offer& offer) {
  const auto filled = [](const std::string& what) {
    return "mapfile -t COMPREPLY < <(compgen " + what + " -- \"$word\")";
  };
  switch (offer.kind) {
    case Offer::Kind::kWords:
      return filled("-W " + Quoted(join(offer.words, " ")));
    case Offer::Kind::kFiles:
      return "compopt -o filenames; " + filled("-f");
    case Offer::Kind::kFolders:
      return "compopt -o filenames; " + filled("-d");
    case Offer::Kind::kNothing:
      break;
  }
  return ":";
}

std::string FunctionName(const std::string& command) {
  return "_" + CLI::detail::find_and_replace(command, "-", "_");
}

// A function for one command. It sees `word`, which is being typed, and `before`, the one before.
std::string Function(const CompletedCommand& command, const std::string& function) {
  std::vector<std::string> names;
  std::string text = function + "() {\n  case $before in\n";
  for (const CompletedOption& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
    if (option.value.empty()) continue;
    text += "    " + join(option.names, " | ") + ") " + Reply(option.offer) + "; return ;;\n";
  }
  text += "  esac\n  if [[ $word == -* ]]; then\n    " + Reply({Offer::Kind::kWords, names}) +
          "\n    return\n  fi\n";
  if (!command.positionals.empty()) text += "  " + Reply(command.positionals[0].offer) + "\n";
  if (!command.subcommands.empty()) {
    for (const CompletedCommand& part : command.subcommands)
      text += "  [[ " + part.name + " != \"$word\"* ]] || COMPREPLY+=(" + part.name + ")\n";
  }
  return text + "}\n";
}

}  // namespace

std::string BashCompletion(const CompletedCommand& tool) {
  const std::string own = FunctionName(tool.name);
  std::string text = "# bash completion of " + tool.name + ", made from its options.\n";
  std::string cases;
  for (const CompletedCommand& part : tool.subcommands) {
    text += Function(part, own + "_" + part.name);
    cases += "      " + part.name + ") " + own + "_" + part.name + "; return ;;\n";
  }
  text += Function(tool, own + "_itself") + own + "() {\n";
  text += "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n";
  // Bash takes the = of --option=value for a word.
  text +=
      "  if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then\n"
      "    before=${COMP_WORDS[COMP_CWORD - 2]}\n  fi\n  COMPREPLY=()\n";
  if (!cases.empty()) {
    text +=
        "  local given\n  for given in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
        "    case $given in\n" +
        cases + "    esac\n  done\n";
  }
  return text + "  " + own + "_itself\n}\ncomplete -F " + own + " " + tool.name + "\n";
}

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
