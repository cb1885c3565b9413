// The arithmetic that a layer is computed with, as profiles and plans name it. The name is for
// people and for comparing; what is computed with follows from `type`, which is read off the name
// once, where a file is read.
#pragma once

#include <optional>
#include <string>

#include "types/compute_type.h"

namespace sti {

/// A backend, its instruction set and the precision of its products: "native-avx512-bf16".
struct Kernel {
  std::string name;                 ///< empty: not known
  std::optional<ComputeType> type;  ///< nothing where the name does not say

  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// Returns the kernel of this name, whose type is the text behind the last dash.
Kernel ParseKernel(std::string name);

}  // namespace sti
