// A torch file is what torch.save makes of a dict of tensors, pytorch_model.bin among others. It is
// parsed without running any of it. Since PyTorch 1.6 it is a zip archive of a pickle and of the
// storages that the pickle names; before, a stream of pickles with the storages behind them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/weight_file.h"
#include "types/model_info.h"

namespace sti {

/// Returns the tensors of `file`, whose name is `path` for messages; values of the dict that are no
/// tensors are left out. Elements that lie scattered in their storage, as a transposed tensor's do,
/// are copied in order; copies take at most the size of the file. ForeignError for a pickle that
/// does more than tensors need and for big-endian numbers; DataError for a file that is not sound,
/// has tensors outside their storage, or is not what torch.save writes. Pure.
Result<ParsedWeights> ParseTorchFile(const std::string& path, std::span<const uint8_t> file);

using ZipMembers = std::map<std::string, std::span<const uint8_t>, std::less<>>;

/// Returns the members of the archive `file` by name, zip64's too. What counts is the directory at
/// its end. DataError for one that is not sound, a member outside the file or one that stands
/// twice, and for more than 2^20 members; ForeignError for a member that is packed or encrypted.
/// Checksums are not looked at. Pure.
Result<ZipMembers> ReadZip(std::span<const uint8_t> file);

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
