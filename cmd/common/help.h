// Help is made from the options as they are declared, and so is the completion of shells, so that
// they tell of the same options. The short help, -h, fits a terminal of 24 lines and 80 columns: it
// shows those of the group kMostUsed (common/cli.h). A mistyped name is compared with those that it
// was probably meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sti {

/// Returns the help of a tool or a subcommand that is called `name`, with its most used options or
/// with `all` of them. The footer of `app` is its example.
std::string HelpText(const CLI::App& app, const std::string& name, bool all);

/// Holds the value of an option in words. All are empty if the option is a flag.
struct ValueWords {
  std::string name;                  ///< what help calls it: "FILE", or "{p99,median}"
  std::vector<std::string> choices;  ///< all that it can be, if they are few
  std::string range;                 ///< "1 to 256", if it has one
};

/// Returns the words for an option's value, or for a positional.
ValueWords ValueWordsOf(const CLI::Option& option);

/// Returns the names as they are typed, such as "-o" and "--output"; none for a positional.
std::vector<std::string> NamesOf(const CLI::Option& option);

/// Returns how many slips of a finger lie between two words: a letter missing, one too many,
/// another one, or two neighbours swapped.
size_t SlipsBetween(std::string_view a, std::string_view b);

/// Returns the first of those `words` that the fewest slips made `typed` of, if these are at most
/// a third of its letters; empty if there is none.
std::string NearestWord(std::string_view typed, const std::vector<std::string>& words);

}  // namespace sti
