#include "types/kernel.h"

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

}  // namespace sti
