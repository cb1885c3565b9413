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

/// Returns a copy of a text; empty if it is absent.
inline std::string TextOf(const flatbuffers::String* text) {
  return text == nullptr ? "" : text->str();
}

/// The payload of a framed file at an address that is a multiple of 8, as FlatBuffers need it. A
/// payload that lies otherwise is copied; that of a file read into memory of its own never is.
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

/// Returns a text where it lies in the buffer; empty if it is absent.
inline std::string_view ViewOf(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : text->string_view();
}

/// Returns a copy of a list of numbers; empty if it is absent. It is copied byte by byte because
/// the verifier checks the alignment of a vector's length, not of its numbers: in a damaged buffer
/// numbers of 8 bytes may lie at any address.
template <typename Number>
std::vector<Number> NumbersOf(const flatbuffers::Vector<Number>* numbers) {
  if (numbers == nullptr) return {};
  std::vector<Number> copy(numbers->size());
  if (!copy.empty()) std::memcpy(copy.data(), numbers->Data(), copy.size() * sizeof(Number));
  return copy;
}

/// Returns whether a vector of structs is absent or its structs may be looked at in place.
template <typename Struct>
bool IsAligned(const flatbuffers::Vector<const Struct*>* list) {
  return list == nullptr || reinterpret_cast<uintptr_t>(list->Data()) % alignof(Struct) == 0;
}

/// Bounds the memory of all lists of a file by the size of its payload. Fields of a hostile file
/// may all name one list: it takes room anew for each field that is read, as its copies take
/// memory. One thread at a time.
class ListRoom {
 public:
  /// `full` is the error of a list for which no room is left.
  ListRoom(size_t bytes, Error full) : bytes_(bytes), full_(std::move(full)) {}

  /// Takes the room of a list; null takes none. Returns the error `full` if there is too little.
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
  size_t bytes_;  ///< what lists may still take
  Error full_;
};

/// The problem of a file whose fields share lists, so that read they take more than the file.
inline constexpr const char* kFullProblem = "its lists hold more than the file";

}  // namespace sti
