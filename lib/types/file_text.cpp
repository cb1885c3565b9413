#include "types/file_text.h"

#include <array>
#include <cstddef>

#include "base/utf8.h"
#include "types/limits.h"

namespace sti {
namespace {

/// A text as a file calls it, and the most bytes that it may have.
struct FileText {
  const char* field;
  std::string_view text;
  size_t most;
};

std::optional<std::string> FindTextFault(const std::array<FileText, 4>& texts) {
  for (const auto& [field, text, most] : texts) {
    if (IsPlainText(text, most)) continue;
    return std::string(field) + " is not at most " + std::to_string(most) +
           " bytes of printable ASCII";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> FindProfileTextFault(std::string_view cpus, std::string_view kernel,
                                                std::string_view read_path,
                                                std::string_view machine) {
  return FindTextFault({{{"cpus", cpus, kMaxCoresTextBytes},
                         {"kernel", kernel, kMaxShortTextBytes},
                         {"read_path", read_path, kMaxShortTextBytes},
                         {"machine", machine, kMaxMachineTextBytes}}});
}

std::optional<std::string> FindPlanTextFault(std::string_view strategy, std::string_view kernel,
                                             std::string_view read_path, std::string_view cpus) {
  return FindTextFault({{{"strategy", strategy, kMaxShortTextBytes},
                         {"kernel", kernel, kMaxShortTextBytes},
                         {"read_path", read_path, kMaxShortTextBytes},
                         {"cpus", cpus, kMaxCoresTextBytes}}});
}

}  // namespace sti
