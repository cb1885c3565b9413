#include "inputs.h"

#include <filesystem>

namespace sti {

Status CheckKeepsInput(const std::string& output, const std::string& input,
                       const std::string& role) {
  if (output == "-" || input == "-") return {};
  std::error_code failed;  // one that is not there is no other
  if (!std::filesystem::equivalent(output, input, failed)) return {};
  return UsageError("-o: " + output + " is " + role + ", and would be replaced; name another file");
}

}  // namespace sti
