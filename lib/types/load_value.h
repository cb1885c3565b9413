// Stored values of the types that full fidelity has.
#pragma once

#include <cstdint>

#include "base/half.h"
#include "types/model_info.h"

namespace sti {

/// One stored value, little endian and of any alignment, widened exactly to float.
inline float LoadValue(DataType type, const uint8_t* bytes) {
  if (type == DataType::kF16) return LoadF16(bytes);
  return type == DataType::kBF16 ? LoadBF16(bytes) : LoadF32(bytes);
}

}  // namespace sti
