// Advice says what would help, as the end of an error's line. The library knows a remedy; the words
// for it are those of whoever tells it: a tool names its options, the C library its own. Each has a
// table of words, and both tables are used by one function.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sti {

/// Holds the words of one teller. What it cannot come to has no sentence.
struct AdviceWords {
  struct Sentence {
    Remedy remedy;
    std::string_view text;  ///< {} in it stands for the value of the remedy
  };
  struct Option {
    std::string_view field;  ///< of PlanRequest, as values of remedies name it
    std::string_view name;
  };
  std::span<const Sentence> sentences;
  std::span<const Option> options;
};

/// Returns "line; what would help", or `line` if there is no sentence for the remedy. In `value`
/// options stand in place of fields.
std::string WithAdvice(std::string line, Remedy remedy, std::string_view value,
                       const AdviceWords& words);

}  // namespace sti
