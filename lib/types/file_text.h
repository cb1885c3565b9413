// Texts in a plan or in a device profile. Tools print them, each on a line with other words, so
// they are printable ASCII and short. Who reads a file asks before the texts are copied, and who
// checks a value asks the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sti {

/// Return the rule that a text of a profile, or of a plan, breaks: "kernel is not at most 64 bytes
/// of printable ASCII". Nothing if all keep it.
std::optional<std::string> FindProfileTextFault(std::string_view cpus, std::string_view kernel,
                                                std::string_view read_path,
                                                std::string_view machine);
std::optional<std::string> FindPlanTextFault(std::string_view strategy, std::string_view kernel,
                                             std::string_view read_path, std::string_view cpus);

}  // namespace sti
