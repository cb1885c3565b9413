// Lists of numbers out of a FlatBuffer, within a budget. Offsets may name one list many times, so
// that copies outgrow the file; a list that is stored once for each use never does. So the lists
// that a reader copies may together hold as many bytes as the payload has. Only lib/format includes
// this.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "format/flatbuffer_values.h"

namespace sti {

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
