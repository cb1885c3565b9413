// How an option is spelled: its names and what its value is called. Help and the completion of
// shells are both made from this, so that they tell of the same options.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class Option;
}  // namespace CLI

namespace sti {

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

}  // namespace sti
