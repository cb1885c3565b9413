// A pickle is a program: opcodes for a machine with a stack and a memo, which may import and call
// anything. So loading one can run whatever its author liked. This machine builds numbers, texts,
// tuples, lists and dicts, and knows what a dict of tensors is made of; it notes that a tensor is
// to be made and makes none. It has nothing that could import or call, and refuses any other
// opcode.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "types/model_info.h"

namespace sti {

/// Says what elements a storage has, by the class that PyTorch has for it.
struct StorageType {
  std::string_view name;  ///< "FloatStorage"
  uint32_t element_bytes = 0;
  std::optional<DataType> type;  ///< none for elements that are no weights
};

/// An array that tensors are views of. The bytes lie outside the pickle, under `key`.
struct PickledStorage {
  const StorageType* type = nullptr;
  std::string_view key;
  uint64_t elements = 0;
};

/// A view of a storage: element (i, j, ...) is number offset + i strides[0] + j strides[1] + ...
struct PickledTensor {
  PickledStorage storage;
  uint64_t offset = 0;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> strides;  ///< as many as extents
};

/// A value of the machine.
struct PickleValue {
  enum class Kind : uint8_t {
    kNone,
    kBool,
    kNumber,
    kText,
    kGlobal,
    kTuple,
    kList,
    kDict,
    kStorage,
    kTensor
  };
  Kind kind = Kind::kNone;
  int64_t number = 0;     ///< of kBool and kNumber; of others but kText the index among its kind
  std::string_view text;  ///< of kText, in the bytes of the pickle
};

/// Everything that a pickle makes. Views refer to its bytes.
struct Pickle {
  PickleValue top;  ///< what it is about
  /// Values of tuples, lists and dicts; a dict's as key, value, key, value.
  std::vector<std::vector<PickleValue>> items;
  std::vector<PickledStorage> storages;
  std::vector<PickledTensor> tensors;
  uint64_t bytes = 0;  ///< taken, the opcode that ends it included
};

/// Runs the pickle of protocol 2 that `bytes` begin with; they are at `base` of their file, which
/// counts for messages only. ForeignError with the place of an opcode that tensors do not need, or
/// of a class or function that they do not; DataError for a pickle that is cut short or not sound,
/// and beyond 16 MiB, 65,536 values on the stack, 2^20 tuples, lists, dicts or tensors, and 2^21
/// values in them or in the memo. Pure.
Result<Pickle> RunPickle(std::span<const uint8_t> bytes, uint64_t base);

}  // namespace sti
