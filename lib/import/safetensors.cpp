// The layout: eight bytes of header length (little endian), that many bytes of JSON, tensors.
// Nothing of the header is believed before it is checked, since the file may come from anywhere.

#include "import/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/json.h"
#include "base/little_endian.h"

namespace sti {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kLengthBytes = 8;

std::optional<DataType> TypeOf(std::string_view name) {
  if (name == "F32") return DataType::kF32;
  if (name == "F16") return DataType::kF16;
  if (name == "BF16") return DataType::kBF16;
  return std::nullopt;
}

/// Turns the JSON header into entries.
class Header {
 public:
  using Entry = ParsedWeights::Entry;

  Header(const std::string& path, std::span<const uint8_t> file) : path_(path), file_(file) {}

  Result<ParsedWeights> Read() {
    if (file_.size() < kLengthBytes) {
      return DataError("not a safetensors file; get a sound copy of the file").At(path_);
    }
    const uint64_t length = LoadLittle<uint64_t>(file_.data());
    if (length > kMaxSafetensorsHeaderBytes || !RangeFits(kLengthBytes, length, file_.size())) {
      return Bad("the header would take " + std::to_string(length) + " bytes of a file of " +
                 std::to_string(file_.size()));
    }
    const auto text = file_.subspan(kLengthBytes, length);
    data_ = file_.subspan(kLengthBytes + length);
    const auto json = ParseJson({reinterpret_cast<const char*>(text.data()), text.size()},
                                kMaxJsonMemory, EqualNames::kRefused);
    if (!json.ok()) return Bad("the header is " + json.error().what);
    STI_RETURN_IF_ERROR(ReadEntries(*json));
    return std::move(weights_);
  }

 private:
  Status ReadEntries(const Json& header) {
    if (!header.is_object()) return Bad("the header is not a JSON object");
    if (header.size() > kMaxTensors) return Bad("the header has too many tensors");
    for (const auto& [name, value] : header.items()) {
      if (name == "__metadata__") continue;
      STI_RETURN_IF_ERROR(ReadEntry(name, value));
    }
    return CheckOverlap();
  }

  [[nodiscard]] Error Bad(const std::string& what) const {
    return DataError(what + "; get a sound copy of the file").At(path_);
  }

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
    const uint64_t begin = (*offsets)[0];
    const uint64_t end = (*offsets)[1];
    if (begin > end || end > data_.size()) {
      return Bad(where + "bytes " + std::to_string(begin) + " to " + std::to_string(end) +
                 " lie outside the " + std::to_string(data_.size()) + " bytes of data");
    }
    entry.bytes = data_.subspan(begin, end - begin);
    STI_RETURN_IF_ERROR(CheckSize(where, entry));
    weights_.entries.emplace(name, std::move(entry));
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
    if (*bytes != entry.bytes.size()) {
      return Bad(where + std::to_string(entry.bytes.size()) + " bytes, but its shape needs " +
                 std::to_string(*bytes));
    }
    return {};
  }

  [[nodiscard]] Status CheckOverlap() const {
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (const auto& [name, entry] : weights_.entries) {
      const auto begin = static_cast<uint64_t>(entry.bytes.data() - data_.data());
      if (!entry.bytes.empty()) ranges.emplace_back(begin, begin + entry.bytes.size());
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

  const std::string& path_;
  std::span<const uint8_t> file_;
  std::span<const uint8_t> data_;  // what follows the header
  ParsedWeights weights_;
};

}  // namespace

Result<ParsedWeights> ParseSafetensors(const std::string& path, std::span<const uint8_t> file) {
  return Header(path, file).Read();
}

namespace {

constexpr uint64_t kHeaderAlignment = 8;  // so that data are aligned in a mapped file

const char* DtypeOf(DataType type) {
  if (type == DataType::kF32) return "F32";
  return type == DataType::kF16 ? "F16" : "BF16";
}

}  // namespace

uint64_t TensorPlan::bytes() const {
  uint64_t count = BytesOf(type);
  for (uint64_t extent : shape) count *= extent;
  return count;
}

Result<SafetensorsWriter> SafetensorsWriter::Create(const std::string& path,
                                                    std::vector<TensorPlan> tensors) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};  // what the Hugging Face loaders look for
  uint64_t data_bytes = 0;
  for (const TensorPlan& tensor : tensors) {
    uint64_t begin = data_bytes;
    data_bytes += tensor.bytes();
    header[tensor.name] = {{"dtype", DtypeOf(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {begin, data_bytes}}};
  }
  std::string text = header.dump();
  text.resize(RoundUp(text.size(), kHeaderAlignment), ' ');
  std::vector<uint8_t> front(sizeof(uint64_t));
  StoreLittle<uint64_t>(front.data(), text.size());
  front.insert(front.end(), text.begin(), text.end());
  STI_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  STI_RETURN_IF_ERROR(file.WriteAt(0, front));
  SafetensorsWriter writer(std::move(file));
  writer.next_ = front.size();
  writer.end_ = front.size() + data_bytes;
  return writer;
}

Status SafetensorsWriter::Append(std::span<const uint8_t> bytes) {
  STI_RETURN_IF_ERROR(file_.WriteAt(next_, bytes));
  next_ += bytes.size();
  return {};
}

Status SafetensorsWriter::Finish() {
  if (next_ != end_) return MachineError("tensors have other sizes than announced; a defect");
  return file_.Commit();
}

}  // namespace sti
