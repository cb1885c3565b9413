#include "types/kernel.h"

#include <array>
#include <utility>

namespace sti {

Kernel ParseKernel(std::string name) {
  Kernel kernel;
  const size_t dash = name.rfind('-');
  if (dash != std::string::npos)
    kernel.type = ParseComputeType(std::string_view(name).substr(dash + 1));
  kernel.name = std::move(name);
  return kernel;
}

namespace {

constexpr std::array<std::pair<ComputeType, std::string_view>, 3> kTypeNames = {
    {{ComputeType::kFp32, "fp32"}, {ComputeType::kBf16, "bf16"}, {ComputeType::kInt8, "int8"}}};

}  // namespace

std::string_view NameOf(ComputeType type) { return kTypeNames[static_cast<size_t>(type)].second; }

std::optional<ComputeType> ParseComputeType(std::string_view name) {
  for (const auto& [type, its_name] : kTypeNames) {
    if (its_name == name) return type;
  }
  return std::nullopt;
}

}  // namespace sti
