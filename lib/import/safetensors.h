// Reads safetensors files: a JSON header that names tensors, then their bytes.
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
#include "types/model_info.h"

namespace sti {

/// A tensor where it lies. `bytes` is row-major and little endian, of any alignment, and has
/// product(shape) * BytesOf(type) bytes. Lives as long as the file it came from.
struct TensorView {
  DataType type = DataType::kF32;
  std::vector<uint64_t> shape;
  std::span<const uint8_t> bytes;
  bool mapped = false;  ///< from a file, so that ReleasePages may drop it

  /// product(shape); 1 for a scalar.
  [[nodiscard]] uint64_t count() const { return bytes.size() / BytesOf(type); }
};

/// Element `index` of `tensor`, widened exactly to float; `index` < count().
float LoadElement(const TensorView& tensor, uint64_t index);

/// Gives the memory of a tensor back if it is mapped; it comes from the file again when it is
/// looked at. So memory is bounded by what is in use, whatever the file's size. Thread-safe.
void ReleasePages(const TensorView& tensor);

/// DataError that begins with `name` and gives the first index if `tensor` holds a NaN or an
/// infinity.
Status CheckFinite(const TensorView& tensor, const std::string& name);

/// One mapped safetensors file, checked as a whole when it is opened: header, types, shapes,
/// sizes, and that tensors lie inside the file without overlap. The map is read-only and pages
/// come in as they are used, so memory stays bounded by what is looked at.
///
/// Immutable once open: any number of threads may call the const methods at once. Views stay good
/// until the object dies; moving it keeps them. The file must not be cut short meanwhile.
class SafetensorsFile {
 public:
  static constexpr uint64_t kMaxHeaderBytes = 100'000'000;
  static constexpr uint64_t kMaxTensors = uint64_t{1} << 20;

  /// Opens a file and reads its header. Errors: kNoSuchFile, kMachine if it cannot be read,
  /// kForeign for a pointer of git-lfs, and kDamaged if it is no sound safetensors file.
  static Result<SafetensorsFile> Open(const std::string& path);

  SafetensorsFile(SafetensorsFile&& other) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&& other) noexcept;
  ~SafetensorsFile();

  /// The tensor of that name, if the file has one of a type we read (F32, F16, BF16).
  [[nodiscard]] std::optional<TensorView> Find(std::string_view name) const;

  /// The type as the file spells it, for any tensor of the file, readable or not.
  [[nodiscard]] std::optional<std::string> TypeName(std::string_view name) const;

  [[nodiscard]] std::vector<std::string> Names() const;  ///< ascending
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  friend class SafetensorsHeader;
  struct Entry {
    std::string type_name;
    std::optional<DataType> type;
    std::vector<uint64_t> shape;
    uint64_t begin = 0;  ///< from the start of the data part
    uint64_t end = 0;
  };

  SafetensorsFile() = default;
  Status Map(const std::string& path);
  Status ReadHeader();

  std::string path_;
  std::span<const uint8_t> file_;  ///< the whole file, mapped
  std::span<const uint8_t> data_;  ///< what follows the header
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace sti
