#include "support/torch_writer.h"

#include <span>

namespace sti {
namespace {

std::string Little(uint64_t number, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text.push_back(static_cast<char>(number >> (8 * i) & 0xFF));
  return text;
}

std::string StorageClass(const std::string& dtype) {
  if (dtype == "F32") return "FloatStorage";
  if (dtype == "F16") return "HalfStorage";
  return dtype == "BF16" ? "BFloat16Storage" : "LongStorage";
}

std::string_view TextOf(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const std::string kEmptyDict = pickle::Global("collections", "OrderedDict") + ")R";

}  // namespace

namespace pickle {

std::string Text(std::string_view text) { return "X" + Little(text.size(), 4) + std::string(text); }

std::string Number(int64_t number) {
  const auto bits = static_cast<uint64_t>(number);
  if (bits < 0x100) return "K" + Little(bits, 1);
  if (bits < 0x10000) return "M" + Little(bits, 2);
  if (number >= INT32_MIN && number <= INT32_MAX) return "J" + Little(bits, 4);
  return "\x8A\x08" + Little(bits, 8);
}

std::string Global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}

std::string Tuple(const std::vector<int64_t>& numbers) {
  std::string opcodes = "(";
  for (const int64_t number : numbers) opcodes += Number(number);
  return opcodes + "t";
}

std::string Tensor(const TensorToPickle& t, bool stream) {
  return Global("torch._utils", "_rebuild_tensor_v2") + "((" + Text("storage") +
         Global("torch", t.storage_class) + Text(t.key) + Text("cpu") + Number(t.elements) +
         (stream ? "N" : "") + "tQ" + Number(t.offset) + Tuple(t.shape) + Tuple(t.strides) +
         "\x89" + kEmptyDict + "tR";
}

}  // namespace pickle

std::string WholePickle(std::string_view opcodes) {
  return "\x80\x02" + std::string(opcodes) + ".";
}

std::string PickleOf(const std::vector<TensorToPickle>& tensors, bool stream) {
  std::string opcodes = kEmptyDict + std::string("q\0(", 3);
  for (const TensorToPickle& tensor : tensors) {
    opcodes += pickle::Text(tensor.name) + pickle::Tensor(tensor, stream);
  }
  opcodes += "u}" + pickle::Text("_metadata") + kEmptyDict + pickle::Text("") + "}" +
             pickle::Text("version") + pickle::Number(1) + "sssb";
  return WholePickle(opcodes);
}

std::vector<TensorToPickle> Described(const std::vector<TensorToWrite>& tensors) {
  std::vector<TensorToPickle> described;
  for (const TensorToWrite& tensor : tensors) {
    TensorToPickle& d = described.emplace_back();
    d.name = tensor.name;
    d.storage_class = StorageClass(tensor.dtype);
    d.key = std::to_string(described.size() - 1);
    d.shape.assign(tensor.shape.begin(), tensor.shape.end());
    d.strides.resize(d.shape.size());
    d.elements = 1;
    for (size_t i = d.shape.size(); i-- > 0;) {
      d.strides[i] = d.elements;
      d.elements *= d.shape[i];
    }
  }
  return described;
}

std::string ZipBytes(const std::vector<ZipMember>& members, bool zip64) {
  std::string file;
  std::string directory;
  for (const auto& [name, bytes] : members) {
    const std::string sizes = Little(bytes.size(), 4) + Little(bytes.size(), 4);
    const uint64_t offset = file.size();
    file += "PK\3\4" + std::string(22, '\0') + Little(name.size(), 2) + Little(3, 2) + name + "pad";
    file += bytes;
    // Behind the magic stand versions, flags, method, time, date and checksum.
    directory += "PK\1\2" + std::string(16, '\0');
    directory += zip64 ? std::string(8, '\xFF') : sizes;
    directory += Little(name.size(), 2) + Little(zip64 ? 32 : 0, 2) + std::string(10, '\0');
    directory += zip64 ? std::string(4, '\xFF') : Little(offset, 4);
    directory += name;
    if (zip64) {
      directory += Little(99, 2) + Little(0, 2) + Little(1, 2) + Little(24, 2) +
                   Little(bytes.size(), 8) + Little(bytes.size(), 8) + Little(offset, 8);
    }
  }
  const uint64_t offset = file.size();
  file += directory;
  if (zip64) {
    const uint64_t end = file.size();
    file += "PK\6\6" + Little(44, 8) + std::string(20, '\0') + Little(members.size(), 8) +
            Little(directory.size(), 8) + Little(offset, 8);
    file += "PK\6\7" + Little(0, 4) + Little(end, 8) + Little(1, 4);
    return file + "PK\5\6" + std::string(4, '\0') + std::string(12, '\xFF') + Little(0, 2);
  }
  return file + "PK\5\6" + std::string(4, '\0') + Little(members.size(), 2) +
         Little(members.size(), 2) + Little(directory.size(), 4) + Little(offset, 4) + Little(0, 2);
}

std::vector<ZipMember> TorchMembers(const std::vector<TensorToWrite>& tensors) {
  std::vector<ZipMember> members = {{"archive/data.pkl", PickleOf(Described(tensors))}};
  for (size_t i = 0; i < tensors.size(); ++i) {
    members.emplace_back("archive/data/" + std::to_string(i), TextOf(tensors[i].bytes));
  }
  members.emplace_back("archive/version", "3\n");
  return members;
}

std::string StreamBytes(std::string_view version, std::string_view machine, std::string_view dict,
                        std::string_view keys, std::string_view storages) {
  std::string file = WholePickle(std::string("\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19"));
  for (const std::string_view part : {version, machine, dict, keys, storages}) file += part;
  return file;
}

std::string TorchStream(const std::vector<TensorToWrite>& tensors) {
  const auto described = Described(tensors);
  std::string keys = "](";
  std::string storages;
  for (size_t i = 0; i < tensors.size(); ++i) {
    keys += pickle::Text(described[i].key);
    storages += Little(static_cast<uint64_t>(described[i].elements), 8);
    storages += TextOf(tensors[i].bytes);
  }
  return StreamBytes(WholePickle(pickle::Number(1001)),
                     WholePickle("}" + pickle::Text("little_endian") + "\x88s"),
                     PickleOf(described, true), WholePickle(keys + "e"), storages);
}

}  // namespace sti
