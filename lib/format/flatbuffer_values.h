// Values out of a FlatBuffer that has passed its verifier. Only lib/format includes this.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/remedy.h"
#include "base/result.h"

namespace sti {

/// The problem of a payload that the verifier refuses.
inline constexpr const char* kNoTable = "the payload is not a valid table";

/// Returns an error about the payload of the file `name`.
inline Error TableError(const std::string& name, const std::string& problem) {
  return DataError(problem).At(name).Fix(Remedy::kMakeFileAgain);
}

/// Empty if absent.
inline std::string TextOf(const flatbuffers::String* text) {
  return text == nullptr ? "" : text->str();
}

/// The payload of a framed file, aligned as FlatBuffers need it: in place, or copied where the file
/// lies otherwise. A file that is read into memory of its own lies so, and is held once.
class AlignedPayload {
 public:
  explicit AlignedPayload(std::span<const uint8_t> payload) : payload_(payload) {
    constexpr uintptr_t kAlignment = 8;
    if (reinterpret_cast<uintptr_t>(payload.data()) % kAlignment == 0) return;
    copy_.assign(payload.begin(), payload.end());
    payload_ = copy_;
  }
  AlignedPayload(const AlignedPayload&) = delete;
  AlignedPayload& operator=(const AlignedPayload&) = delete;

  [[nodiscard]] const uint8_t* data() const { return payload_.data(); }
  [[nodiscard]] size_t size() const { return payload_.size(); }

 private:
  std::span<const uint8_t> payload_;
  std::vector<uint8_t> copy_;
};

/// Empty if absent; not copied.
inline std::string_view ViewOf(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : text->string_view();
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

/// The bytes that lists may still take. One thread at a time.
class ListRoom {
 public:
  /// `full` is the error of a list for which no room is left.
  ListRoom(size_t bytes, Error full) : bytes_(bytes), full_(std::move(full)) {}

  /// Takes the room of a list, each time that it is named; null takes none.
  template <typename T>
  [[nodiscard]] Status Take(const flatbuffers::Vector<T>* list) {
    const size_t bytes = list == nullptr ? 0 : size_t{list->size()} * sizeof(T);
    if (bytes > bytes_) return full_;
    bytes_ -= bytes;
    return {};
  }
  /// Takes the room of a list, then copies it to `numbers`; null is empty.
  template <typename Number>
  [[nodiscard]] Status Copy(const flatbuffers::Vector<Number>* list, std::vector<Number>* numbers) {
    STI_RETURN_IF_ERROR(Take(list));
    *numbers = NumbersOf(list);
    return {};
  }

 private:
  size_t bytes_;
  Error full_;
};

/// The problem of a file whose lists are shared.
inline constexpr const char* kFullProblem = "its lists hold more than the file";

}  // namespace sti
