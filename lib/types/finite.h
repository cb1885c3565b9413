// Stored numbers of the types that full fidelity has, and whether they are finite. A file may hold
// NaN or infinity by damage that no checksum finds, or because somebody put it there; one such
// number makes the answer to every input nothing.
#pragma once

#include <cstdint>
#include <span>

#include "base/half.h"
#include "types/model_info.h"

namespace sti {

/// Returns whether all of `values` are finite: stored numbers of a type, little endian, of any
/// alignment, whole ones only.
bool AllFinite(DataType type, std::span<const uint8_t> values);

/// Returns whether all of `numbers` are finite.
bool AllFinite(std::span<const float> numbers);

/// Returns one stored value, little endian and of any alignment, widened exactly to float.
inline float LoadValue(DataType type, const uint8_t* bytes) {
  if (type == DataType::kF16) return LoadF16(bytes);
  return type == DataType::kBF16 ? LoadBF16(bytes) : LoadF32(bytes);
}

}  // namespace sti
