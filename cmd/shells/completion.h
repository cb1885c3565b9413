// Completion of a command by a shell, bash, zsh or fish: its options, what their values are, and
// its subcommands, all read from the parser that the tool itself uses.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace sti {

/// The words, or files, that a shell offers where a value stands.
struct Offer {
  enum class Kind { kNothing, kWords, kFiles, kFolders };
  Kind kind = Kind::kNothing;
  std::vector<std::string> words;  ///< of kWords
};

/// Holds an option, or a positional, which has no names.
struct CompletedOption {
  std::vector<std::string> names;  ///< "-o", "--output"
  std::string description;
  std::string value;  ///< what help calls it; empty: a flag
  Offer offer;
  bool repeats = false;
};

/// Holds a tool or one of its subcommands.
struct CompletedCommand {
  std::string name;
  std::string description;
  std::vector<CompletedOption> options;
  std::vector<CompletedOption> positionals;
  std::vector<CompletedCommand> subcommands;
};

/// Returns what can be completed of the tool whose parser this is.
CompletedCommand CompletedCommandOf(const CLI::App& app);

/// Returns the text of the file from which the shell completes the tool.
std::string BashCompletion(const CompletedCommand& tool);
std::string ZshCompletion(const CompletedCommand& tool);
std::string FishCompletion(const CompletedCommand& tool);

/// Returns `text` between single quotes, as these shells read it.
std::string Quoted(const std::string& text);

}  // namespace sti
