// A file of weights: tensors with names. Two formats are read, each by a parser that finds where in
// the file the tensors lie: safetensors (import/safetensors.h) and what torch.save writes
// (import/torch_file.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "types/model_info.h"

namespace sti {

constexpr size_t kMaxDimensions = 8;  ///< of a tensor

/// A tensor where it lies. `bytes` is row-major and little endian, of any alignment, and has
/// product(shape) * BytesOf(type) bytes. Lives as long as `owner`, or else the file it came from.
struct TensorView {
  DataType type = DataType::kF32;
  std::vector<uint64_t> shape;
  std::span<const uint8_t> bytes;
  bool mapped = false;  ///< from a file, so that ReleasePages may drop it
  std::shared_ptr<const std::vector<uint8_t>> owner = nullptr;  ///< of a copy

  /// Returns the number of elements, product(shape); 1 for a scalar.
  [[nodiscard]] uint64_t count() const { return bytes.size() / BytesOf(type); }
};

/// Returns element `index` of `tensor`, widened exactly to float; `index` < count().
float LoadElement(const TensorView& tensor, uint64_t index);

/// Gives the memory of a tensor back if it is mapped; it comes from the file again when it is
/// looked at. So memory is bounded by what is in use, whatever the file's size. Thread-safe.
void ReleasePages(const TensorView& tensor);

/// Returns a DataError that begins with `name` and gives the first index if `tensor` holds a NaN or
/// an infinity.
Status CheckFinite(const TensorView& tensor, const std::string& name);

/// The tensors that a parser found.
struct ParsedWeights {
  struct Entry {
    std::string type_name;         ///< as the file spells it
    std::optional<DataType> type;  ///< none for a type that we do not read
    std::vector<uint64_t> shape;
    std::span<const uint8_t> bytes;  ///< of the file, or of `copies`; only if there is a type
    bool mapped = true;              ///< of the file
  };
  std::map<std::string, Entry, std::less<>> entries;
  std::vector<std::vector<uint8_t>> copies;  ///< of tensors whose elements lie scattered
};

/// One mapped file, checked as a whole when it is opened: types, shapes, sizes, and that tensors
/// lie inside the file. The map is read-only and pages come in as they are used, so memory stays
/// bounded by what is looked at.
///
/// Immutable once open: any number of threads may call the const methods at once. Views stay good
/// until the object dies; moving it keeps them. The file must not be cut short meanwhile.
class WeightFile {
 public:
  /// Opens a file in the safetensors format. Errors: kNoSuchFile, kMachine if it cannot be read,
  /// kForeign for a pointer of git-lfs, and those of ParseSafetensors.
  static Result<WeightFile> OpenSafetensors(const std::string& path);
  /// Opens a file of torch.save. Errors as OpenSafetensors, and those of ParseTorchFile.
  static Result<WeightFile> OpenTorch(const std::string& path);

  WeightFile(WeightFile&& other) noexcept;
  WeightFile& operator=(WeightFile&& other) noexcept;
  ~WeightFile();

  /// Returns the tensor of that name, if the file has one of a type we read (F32, F16, BF16).
  [[nodiscard]] std::optional<TensorView> Find(std::string_view name) const;

  /// Returns the type as the file spells it, for any tensor of the file, readable or not.
  [[nodiscard]] std::optional<std::string> TypeName(std::string_view name) const;

  [[nodiscard]] std::vector<std::string> Names() const;  ///< ascending
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  using Parse = Result<ParsedWeights> (*)(const std::string& path, std::span<const uint8_t> file);

  WeightFile() = default;
  static Result<WeightFile> Open(const std::string& path, Parse parse);
  Status Map(const std::string& path);

  std::string path_;
  std::span<const uint8_t> file_;  ///< the whole file, mapped
  ParsedWeights weights_;
};

}  // namespace sti
