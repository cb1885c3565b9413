// Help is made from the options as they are declared. The short one, -h, fits a terminal of 24
// lines and 80 columns: of the options it shows those of the group kMostUsed (common/cli.h).
#pragma once

#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace sti {

/// Returns the help of a tool or a subcommand that is called `name`, with its most used options or
/// with `all` of them. The footer of `app` is its example.
std::string HelpText(const CLI::App& app, const std::string& name, bool all);

}  // namespace sti
