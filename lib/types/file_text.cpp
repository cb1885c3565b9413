#include "types/file_text.h"

#include "base/utf8.h"
#include "types/limits.h"

namespace sti {

std::optional<std::string> FindTextFault(std::string_view field, std::string_view text,
                                         size_t most_bytes) {
  if (IsPlainText(text, most_bytes)) return std::nullopt;
  return std::string(field) + " is not at most " + std::to_string(most_bytes) +
         " bytes of printable ASCII";
}

std::optional<std::string> FindProfileTextFault(std::string_view cpus, std::string_view kernel,
                                                std::string_view read_path,
                                                std::string_view machine) {
  auto fault = FindTextFault("cpus", cpus, kMaxCoresTextBytes);
  if (!fault) fault = FindTextFault("kernel", kernel, kMaxShortTextBytes);
  if (!fault) fault = FindTextFault("read_path", read_path, kMaxShortTextBytes);
  if (!fault) fault = FindTextFault("machine", machine, kMaxMachineTextBytes);
  return fault;
}

}  // namespace sti
