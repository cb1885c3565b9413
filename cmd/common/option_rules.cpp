#include "common/option_rules.h"

#include <algorithm>
#include <vector>

#include "base/log.h"
#include "common/cli.h"

namespace sti {
namespace {

bool WasGiven(const CLI::App& app, std::string_view option) {
  return app.count(std::string(option)) != 0;
}

Error Refusal(std::string_view context, const std::string& option, std::string_view why) {
  return UsageError(std::string(context) + " takes no " + option + ": " + std::string(why) +
                    "; drop one");
}

}  // namespace

Status RefuseOptions(const CLI::App& app, std::string_view context, OptionNames refused,
                     std::string_view why) {
  const auto* given = std::find_if(refused.begin(), refused.end(),
                                   [&](std::string_view name) { return WasGiven(app, name); });
  if (given == refused.end()) return {};
  return Refusal(context, std::string(*given), why);
}

Status RefuseBeside(const CLI::App& app, std::string_view option, OptionNames refused,
                    std::string_view why) {
  return WasGiven(app, option) ? RefuseOptions(app, option, refused, why) : Status();
}

std::string OtherOption(const CLI::App& app, OptionNames taken) {
  for (const CLI::Option* option : app.get_options()) {
    const auto is_this = [&](std::string_view name) {
      return option->check_name(std::string(name));
    };
    const bool known =
        option->get_group() == kCommon || std::any_of(taken.begin(), taken.end(), is_this);
    if (!known && option->count() != 0) return option->get_name();
  }
  return "";
}

Status RefuseOtherOptions(const CLI::App& app, std::string_view context, OptionNames taken,
                          std::string_view why) {
  const std::string other = OtherOption(app, taken);
  return other.empty() ? Status() : Refusal(context, other, why);
}

Status RequireOption(const CLI::App& app, OptionNames options, std::string_view needed) {
  if (WasGiven(app, needed)) return {};
  for (std::string_view option : options) {
    if (!WasGiven(app, option)) continue;
    const std::string name(option);
    return UsageError(name + " goes with " + std::string(needed) + "; add it, or drop " + name);
  }
  return {};
}

Error NotForHead(std::string_view option, std::span<const HeadOutput> outputs,
                 const std::string& model, HeadOutput own) {
  std::vector<std::string> doings;
  for (const HeadOutput output : outputs) doings.emplace_back(DoingOf(output));
  std::string does = DoingOf(own);
  does.insert(does.find(' '), "s");
  return UsageError(std::string(option) + " is for models that " + EitherOf(doings) + "; " + model +
                    " " + does);
}

void AddColumnOptions(CLI::App& app, ColumnChoice& columns) {
  app.add_option("--text-column", columns.text, "of the data: name, or number without header")
      ->type_name("COLUMN");
  app.add_option("--pair-column", columns.pair, "of the second text, if there are two")
      ->type_name("COLUMN");
  app.add_option("--label-column", columns.label, "of the label")->type_name("COLUMN");
}

}  // namespace sti
