#include "test_container.h"

#include <fstream>
#include <iterator>

namespace sti {

Result<ShardReport> WriteTinyContainer(const std::string& path, const TinyModelOptions& model,
                                       const ShardOptions& options) {
  const std::string folder_path = path + ".model";
  STI_RETURN_IF_ERROR(WriteTinyModel(folder_path, model));
  STI_ASSIGN_OR_RETURN(ModelFolder folder, ModelFolder::Open(folder_path));
  return ShardModel(folder, options, path);
}

std::vector<uint8_t> FileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Status DamageByte(const std::string& path, uint64_t offset, uint8_t mask) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(offset));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(byte ^ mask));
  file.close();
  if (!file || byte < 0) return MachineError(path + ": cannot damage");
  return {};
}

}  // namespace sti
