// Rules on options that do nothing beside others, and the options that tools share which read a
// data set. Every option does what its help says or is refused, so that nobody relies on an option
// that was not read.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/dataset.h"
#include "types/model_info.h"

namespace CLI {
class App;
}  // namespace CLI

namespace sti {

/// Names of options, such as "--preload".
using OptionNames = std::initializer_list<std::string_view>;

/// Returns kUsage if one of `refused` was given, as "CONTEXT takes no --preload: WHY; drop one".
/// `context` is what they do nothing beside, such as "--strategy stdpl".
Status RefuseOptions(const CLI::App& app, std::string_view context, OptionNames refused,
                     std::string_view why);

/// Returns kUsage if `option` was given, and one of `refused` beside it.
Status RefuseBeside(const CLI::App& app, std::string_view option, OptionNames refused,
                    std::string_view why);

/// Returns the name of an option that was given and is neither among `taken` nor common to all
/// tools; empty if there is none.
std::string OtherOption(const CLI::App& app, OptionNames taken);

/// Returns kUsage if there is such an option.
Status RefuseOtherOptions(const CLI::App& app, std::string_view context, OptionNames taken,
                          std::string_view why);

/// Returns kUsage if one of `options` was given without `needed`: "--pairs goes with --tokenize;
/// add it, or drop --pairs".
Status RequireOption(const CLI::App& app, OptionNames options, std::string_view needed);

/// Returns kUsage that an option is for models whose heads give one of `outputs`, which this
/// model's does not: "--top is for models that label texts; a.sti embeds texts".
Error NotForHead(std::string_view option, std::span<const HeadOutput> outputs,
                 const std::string& model, HeadOutput own);

/// Adds --text-column, --pair-column and --label-column, which fill `columns` in. CheckColumnChoice
/// tells whether they make sense together.
void AddColumnOptions(CLI::App& app, ColumnChoice& columns);

}  // namespace sti
