#include "import/weight_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/little_endian.h"
#include "base/page_space.h"
#include "import/folder_file.h"
#include "import/safetensors.h"
#include "import/torch_file.h"
#include "types/finite.h"

namespace sti {
namespace {

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
  const size_t page = PageSpace::PageBytes();
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

Result<WeightFile> WeightFile::OpenSafetensors(const std::string& path) {
  return Open(path, ParseSafetensors);
}

Result<WeightFile> WeightFile::OpenTorch(const std::string& path) {
  return Open(path, ParseTorchFile);
}

Result<WeightFile> WeightFile::Open(const std::string& path, Parse parse) {
  WeightFile file;
  STI_RETURN_IF_ERROR(file.Map(path));
  STI_RETURN_IF_ERROR(
      CheckFetched(path, {reinterpret_cast<const char*>(file.file_.data()), file.file_.size()}));
  STI_ASSIGN_OR_RETURN(file.weights_, parse(path, file.file_));
  return file;
}

Status WeightFile::Map(const std::string& path) {
  path_ = path;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat info {};
  if (descriptor < 0 || ::fstat(descriptor, &info) != 0) {
    const int reason = errno;
    if (descriptor >= 0) ::close(descriptor);
    const std::string what = std::string(std::strerror(reason)) + "; check the path";
    return (reason == ENOENT ? NoSuchFileError(what) : MachineError(what)).At(path);
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  if (!S_ISREG(info.st_mode) || size == 0) {
    ::close(descriptor);
    return DataError("no file of weights, or an empty one; get a sound copy of the file").At(path);
  }
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int reason = errno;
  ::close(descriptor);
  if (map == MAP_FAILED)
    return MachineError(std::string("cannot map: ") + std::strerror(reason)).At(path);
  file_ = {static_cast<const uint8_t*>(map), size};
  return {};
}

WeightFile::WeightFile(WeightFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, {})),
      weights_(std::move(other.weights_)) {}

WeightFile& WeightFile::operator=(WeightFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(weights_, other.weights_);
  return *this;
}

WeightFile::~WeightFile() {
  if (!file_.empty()) ::munmap(const_cast<uint8_t*>(file_.data()), file_.size());
}

std::optional<TensorView> WeightFile::Find(std::string_view name) const {
  const auto found = weights_.entries.find(name);
  if (found == weights_.entries.end() || !found->second.type) return std::nullopt;
  const ParsedWeights::Entry& entry = found->second;
  return TensorView{*entry.type, entry.shape, entry.bytes, entry.mapped};
}

std::optional<std::string> WeightFile::TypeName(std::string_view name) const {
  const auto found = weights_.entries.find(name);
  if (found == weights_.entries.end()) return std::nullopt;
  return found->second.type_name;
}

std::vector<std::string> WeightFile::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : weights_.entries) names.push_back(name);
  return names;
}

}  // namespace sti
