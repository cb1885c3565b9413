// Values out of a FlatBuffer that has passed its verifier. Only lib/format includes this.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstring>
#include <string>
#include <vector>

namespace sti {

/// Empty if absent.
inline std::string TextOf(const flatbuffers::String* text) {
  return text == nullptr ? "" : text->str();
}

/// Empty if absent. The verifier looks at where a vector's length stands, not at its numbers: in a
/// damaged buffer those of 8 bytes may lie anywhere, so they are copied.
template <typename Number>
std::vector<Number> NumbersOf(const flatbuffers::Vector<Number>* numbers) {
  if (numbers == nullptr) return {};
  std::vector<Number> copy(numbers->size());
  if (!copy.empty()) std::memcpy(copy.data(), numbers->Data(), copy.size() * sizeof(Number));
  return copy;
}

/// True if a vector of structs is absent or its structs may be looked at in place.
template <typename Struct>
bool IsAligned(const flatbuffers::Vector<const Struct*>* list) {
  return list == nullptr || reinterpret_cast<uintptr_t>(list->Data()) % alignof(Struct) == 0;
}

}  // namespace sti
