#include "common/cli.h"
#include "shells/command.h"

namespace sti {
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

}  // namespace sti
