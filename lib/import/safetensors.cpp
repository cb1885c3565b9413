// The layout: eight bytes of header length (little endian), that many bytes of JSON, tensors.
// Nothing of the header is believed before it is checked, since the file may come from anywhere.

#include "import/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/checked.h"
#include "base/json_parse.h"
#include "import/folder_file.h"
#include "types/load_value.h"

namespace sti {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kLengthBytes = 8;
constexpr size_t kMaxDimensions = 8;

std::optional<DataType> TypeOf(std::string_view name) {
  if (name == "F32") return DataType::kF32;
  if (name == "F16") return DataType::kF16;
  if (name == "BF16") return DataType::kBF16;
  return std::nullopt;
}

// NaN and the infinities have all exponent bits set, in each of the three types.
bool IsFinite(DataType type, const uint8_t* bytes) {
  if (type == DataType::kF32) return (LoadLittle<uint32_t>(bytes) & 0x7F800000u) != 0x7F800000u;
  const uint32_t exponent = type == DataType::kF16 ? 0x7C00u : 0x7F80u;
  return (LoadLittle<uint16_t>(bytes) & exponent) != exponent;
}

}  // namespace

float LoadElement(const TensorView& tensor, uint64_t index) {
  return LoadValue(tensor.type, tensor.bytes.data() + index * BytesOf(tensor.type));
}

void ReleasePages(const TensorView& tensor) {
  if (!tensor.mapped) return;
  // Whole pages only: those at the ends may hold other tensors.
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t before = reinterpret_cast<uintptr_t>(tensor.bytes.data()) % page;
  const size_t skipped = before == 0 ? 0 : page - before;
  if (tensor.bytes.size() < skipped + page) return;
  const size_t length = (tensor.bytes.size() - skipped) / page * page;
  ::madvise(const_cast<uint8_t*>(tensor.bytes.data()) + skipped, length, MADV_DONTNEED);
}

Status CheckFinite(const TensorView& tensor, const std::string& name) {
  const uint64_t step = BytesOf(tensor.type);
  for (uint64_t i = 0; i < tensor.count(); ++i) {
    if (IsFinite(tensor.type, tensor.bytes.data() + i * step)) continue;
    const bool nan = std::isnan(LoadElement(tensor, i));
    return DataError(std::string(nan ? "NaN" : "infinity") + " at index " + std::to_string(i) +
                     "; export the model again from finite weights")
        .At(name);
  }
  return {};
}

// Turns the JSON header into entries. A friend, so that the header file needs no JSON.
class SafetensorsHeader {
 public:
  using Entry = SafetensorsFile::Entry;

  explicit SafetensorsHeader(SafetensorsFile* file) : file_(*file) {}

  Status Read(const Json& header) {
    if (!header.is_object()) return Bad("the header is not a JSON object");
    if (header.size() > SafetensorsFile::kMaxTensors) return Bad("the header has too many tensors");
    for (const auto& [name, value] : header.items()) {
      if (name == "__metadata__") continue;
      STI_RETURN_IF_ERROR(ReadEntry(name, value));
    }
    return CheckOverlap();
  }

  [[nodiscard]] Error Bad(const std::string& what) const {
    return DataError(what + "; get a sound copy of the file").At(file_.path_);
  }

 private:
  Status ReadEntry(const std::string& name, const Json& value) {
    Entry entry;
    const std::string where = "tensor " + name + ": ";
    if (!value.is_object() || !value.contains("dtype") || !value["dtype"].is_string()) {
      return Bad(where + "no dtype in the header");
    }
    entry.type_name = value["dtype"].get<std::string>();
    entry.type = TypeOf(entry.type_name);
    const auto shape = Numbers(value, "shape");
    if (!shape || shape->size() > kMaxDimensions) return Bad(where + "no usable shape");
    entry.shape = *shape;
    const auto offsets = Numbers(value, "data_offsets");
    if (!offsets || offsets->size() != 2) return Bad(where + "no usable data_offsets");
    entry.begin = (*offsets)[0];
    entry.end = (*offsets)[1];
    if (entry.begin > entry.end || entry.end > file_.data_.size()) {
      return Bad(where + "bytes " + std::to_string(entry.begin) + " to " +
                 std::to_string(entry.end) + " lie outside the " +
                 std::to_string(file_.data_.size()) + " bytes of data");
    }
    STI_RETURN_IF_ERROR(CheckSize(where, entry));
    file_.entries_.emplace(name, std::move(entry));
    return {};
  }

  // Types we do not read are left alone: such a tensor only matters if it is asked for.
  [[nodiscard]] Status CheckSize(const std::string& where, const Entry& entry) const {
    if (!entry.type) return {};
    std::optional<uint64_t> bytes = BytesOf(*entry.type);
    for (const uint64_t extent : entry.shape) {
      if (bytes) bytes = CheckedMul(*bytes, extent);
    }
    if (!bytes) return Bad(where + "the shape overflows");
    if (*bytes != entry.end - entry.begin) {
      return Bad(where + std::to_string(entry.end - entry.begin) + " bytes, but its shape needs " +
                 std::to_string(*bytes));
    }
    return {};
  }

  [[nodiscard]] Status CheckOverlap() const {
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (const auto& [name, entry] : file_.entries_) {
      if (entry.begin != entry.end) ranges.emplace_back(entry.begin, entry.end);
    }
    std::sort(ranges.begin(), ranges.end());
    for (size_t i = 1; i < ranges.size(); ++i) {
      if (ranges[i].first < ranges[i - 1].second) {
        return Bad("two tensors overlap at data byte " + std::to_string(ranges[i].first));
      }
    }
    return {};
  }

  static std::optional<std::vector<uint64_t>> Numbers(const Json& value, const char* key) {
    if (!value.contains(key) || !value[key].is_array()) return std::nullopt;
    std::vector<uint64_t> numbers;
    for (const Json& item : value[key]) {
      if (!item.is_number_unsigned()) return std::nullopt;
      numbers.push_back(item.get<uint64_t>());
    }
    return numbers;
  }

  SafetensorsFile& file_;
};

Result<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  SafetensorsFile file;
  STI_RETURN_IF_ERROR(file.Map(path));
  STI_RETURN_IF_ERROR(file.ReadHeader());
  return file;
}

Status SafetensorsFile::Map(const std::string& path) {
  path_ = path;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (descriptor < 0 || ::fstat(descriptor, &info) != 0) {
    const int reason = errno;
    if (descriptor >= 0) ::close(descriptor);
    const std::string what = std::string(std::strerror(reason)) + "; check the path";
    return (reason == ENOENT ? NoSuchFileError(what) : MachineError(what)).At(path);
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  if (!S_ISREG(info.st_mode) || size < kLengthBytes) {
    ::close(descriptor);
    return DataError("not a safetensors file; get a sound copy of the file").At(path);
  }
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int reason = errno;
  ::close(descriptor);
  if (map == MAP_FAILED)
    return MachineError(std::string("cannot map: ") + std::strerror(reason)).At(path);
  file_ = {static_cast<const uint8_t*>(map), size};
  return {};
}

Status SafetensorsFile::ReadHeader() {
  SafetensorsHeader header(this);
  STI_RETURN_IF_ERROR(
      CheckFetched(path_, {reinterpret_cast<const char*>(file_.data()), file_.size()}));
  const uint64_t length = LoadLittle<uint64_t>(file_.data());
  if (length > kMaxHeaderBytes || !RangeFits(kLengthBytes, length, file_.size())) {
    return header.Bad("the header would take " + std::to_string(length) + " bytes of a file of " +
                      std::to_string(file_.size()));
  }
  const auto text = file_.subspan(kLengthBytes, length);
  data_ = file_.subspan(kLengthBytes + length);
  const auto json = ParseJson({reinterpret_cast<const char*>(text.data()), text.size()});
  if (!json.ok()) return header.Bad("the header is " + json.error().what);
  return header.Read(*json);
}

SafetensorsFile::SafetensorsFile(SafetensorsFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, {})),
      data_(std::exchange(other.data_, {})),
      entries_(std::move(other.entries_)) {}

SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(entries_, other.entries_);
  return *this;
}

SafetensorsFile::~SafetensorsFile() {
  if (!file_.empty()) ::munmap(const_cast<uint8_t*>(file_.data()), file_.size());
}

std::optional<TensorView> SafetensorsFile::Find(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end() || !found->second.type) return std::nullopt;
  const Entry& entry = found->second;
  return TensorView{*entry.type, entry.shape, data_.subspan(entry.begin, entry.end - entry.begin),
                    true};
}

std::optional<std::string> SafetensorsFile::TypeName(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return std::nullopt;
  return found->second.type_name;
}

std::vector<std::string> SafetensorsFile::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

}  // namespace sti
