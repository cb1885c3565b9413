#include "model_choice.h"

#include <algorithm>
#include <cctype>

namespace sti {
namespace {

constexpr size_t kLongestName = 64;

// Such a name is safe on a terminal, and is neither a TAB nor the beginning of an error's line.
bool IsName(const std::string& text) {
  const auto is_allowed = [](unsigned char c) {
    return (c < 128 && std::isalnum(c) != 0) || c == '.' || c == '-' || c == '_';
  };
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), is_allowed);
}

Result<ModelChoice> ParseModelChoice(const std::string& value) {
  const size_t equals = value.find('=');
  if (equals == std::string::npos) {
    return UsageError("--model " + OneLine(value) + " names no model; write NAME=FILE,PLAN");
  }
  ModelChoice choice;
  choice.name = value.substr(0, equals);
  if (!IsName(choice.name)) {
    return UsageError("--model: '" + OneLine(choice.name) +
                      "' is not a name; take up to 64 letters, digits, points, dashes and "
                      "underscores");
  }
  const std::string files = value.substr(equals + 1);
  const size_t comma = files.rfind(',');
  choice.model = files.substr(0, comma);
  if (comma != std::string::npos) choice.plan = files.substr(comma + 1);
  if (choice.model.empty()) {
    return UsageError("--model " + choice.name + "= has no container; write NAME=FILE,PLAN");
  }
  if (choice.plan == "-") {
    return UsageError("--model " + choice.name +
                      ": stdin has the inputs, no plan; name the plan's file");
  }
  return choice;
}

}  // namespace

Result<std::vector<ModelChoice>> ParseModelChoices(const std::vector<std::string>& values) {
  std::vector<ModelChoice> choices;
  for (const std::string& value : values) {
    STI_ASSIGN_OR_RETURN(ModelChoice choice, ParseModelChoice(value));
    const auto same = [&](const ModelChoice& other) { return other.name == choice.name; };
    if (std::any_of(choices.begin(), choices.end(), same)) {
      return UsageError("--model: two models have the name '" + choice.name +
                        "'; give each its own");
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace sti
