// Texts in a plan or in a device profile. Tools print them, each on a line with other words, so
// they are printable ASCII and short. Who reads a file asks before the texts are copied, and who
// checks a value asks the same.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sti {

/// Returns what is wrong with the text of a field: "kernel is not at most 64 bytes of printable
/// ASCII"; nothing if it may stand there.
std::optional<std::string> FindTextFault(std::string_view field, std::string_view text,
                                         size_t most_bytes);

/// Returns what is wrong with the first text of a profile that may not stand there.
std::optional<std::string> FindProfileTextFault(std::string_view cpus, std::string_view kernel,
                                                std::string_view read_path,
                                                std::string_view machine);

}  // namespace sti
