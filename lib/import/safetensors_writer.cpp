#include "import/safetensors_writer.h"

#include <nlohmann/json.hpp>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/little_endian.h"

namespace sti {
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
