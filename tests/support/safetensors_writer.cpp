#include "safetensors_writer.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace sti {

Status WriteBytes(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return MachineError(path + ": cannot write");
  return {};
}

std::string SafetensorsBytes(std::string_view header, std::string_view data) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) {
    bytes.push_back(static_cast<char>((uint64_t{header.size()} >> shift) & 0xFF));
  }
  bytes += header;
  bytes += data;
  return bytes;
}

std::string SafetensorsBytes(const std::vector<TensorToWrite>& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::string data;
  for (const TensorToWrite& tensor : tensors) {
    const uint64_t begin = data.size();
    data.append(tensor.bytes.begin(), tensor.bytes.end());
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {begin, uint64_t{data.size()}}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return SafetensorsBytes(text, data);
}

Status WriteSafetensors(const std::string& path, const std::vector<TensorToWrite>& tensors) {
  return WriteBytes(path, SafetensorsBytes(tensors));
}

}  // namespace sti
