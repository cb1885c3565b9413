#include "common/outputs.h"

#include <filesystem>

#include "base/atomic_file.h"

namespace sti {
namespace {

Error Refusal(const Output& output, const std::string& role) {
  return UsageError(output.option + ": " + output.path + " is " + role +
                    ", and would be replaced; name another file");
}

}  // namespace

Status CheckOutput(const Output& output) {
  if (output.path.empty() || output.path == "-") return {};
  return CheckCanWrite(output.path);
}

Status CheckKeepsInput(const Output& output, const std::string& input, const std::string& role) {
  if (output.path.empty() || output.path == "-" || input.empty() || input == "-") return {};
  std::error_code failed;  // one that is not there is no other
  if (!std::filesystem::equivalent(output.path, input, failed)) return {};
  return Refusal(output, role);
}

Status CheckKeepsFolder(const Output& output, const std::string& folder, const std::string& role) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    STI_RETURN_IF_ERROR(CheckKeepsInput(output, entry.path().string(), role));
  }
  return {};
}

}  // namespace sti
