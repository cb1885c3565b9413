#include "import/torch_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/little_endian.h"
#include "import/pickle.h"

namespace sti {
namespace {

using Bytes = std::span<const uint8_t>;
using Kind = PickleValue::Kind;
using Storages = std::map<std::string_view, Bytes>;  // by key

constexpr std::array<uint8_t, 4> kZipStart = {'P', 'K', 3, 4};
// The pickle of the number 0x1950a86a20f9469cfc6c, by which PyTorch knows the stream.
constexpr std::array<uint8_t, 15> kStreamStart = {0x80, 0x02, 0x8A, 0x0A, 0x6C, 0xFC, 0x9C, 0x46,
                                                  0xF9, 0x20, 0x6A, 0xA8, 0x50, 0x19, 0x2E};
constexpr int64_t kStreamVersion = 1001;

template <size_t kCount>
bool StartsWith(Bytes bytes, const std::array<uint8_t, kCount>& start) {
  return bytes.size() >= kCount && std::equal(start.begin(), start.end(), bytes.begin());
}

Error Bad(const std::string& what) { return DataError(what + "; get a sound copy of the file"); }

Error BigEndian() {
  return ForeignError("its numbers are big-endian; save the weights as safetensors");
}

/// A tensor as the walk over its elements needs it.
struct TensorLayout {
  uint64_t count = 1;  // elements
  uint64_t last = 0;   // the largest index that an element has, from the first one's
  bool in_order = true;
};

// Nothing if the numbers overflow.
std::optional<TensorLayout> LayoutOf(const PickledTensor& tensor) {
  TensorLayout layout;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    const uint64_t extent = tensor.shape[i];
    if (extent > 1) {
      layout.in_order = layout.in_order && tensor.strides[i] == layout.count;
      const auto span = CheckedMul(extent - 1, tensor.strides[i]);
      const auto last = span ? CheckedAdd(layout.last, *span) : span;
      if (!last) return std::nullopt;
      layout.last = *last;
    }
    const auto count = CheckedMul(layout.count, extent);
    if (!count) return std::nullopt;
    layout.count = *count;
  }
  return layout;
}

// Returns the elements of `tensor` in row-major order; they lie inside `storage`.
std::vector<uint8_t> InOrder(const PickledTensor& tensor, uint64_t count, Bytes storage) {
  const size_t step = tensor.storage.type->element_bytes;
  std::vector<uint8_t> bytes(count * step);
  std::vector<uint64_t> at(tensor.shape.size(), 0);
  uint64_t from = tensor.offset;
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(bytes.data() + i * step, storage.data() + from * step, step);
    for (size_t d = at.size(); d-- > 0;) {
      from += tensor.strides[d];
      if (++at[d] < tensor.shape[d]) break;
      from -= tensor.shape[d] * tensor.strides[d];
      at[d] = 0;
    }
  }
  return bytes;
}

/// Turns what a pickle says of tensors into views of their storages.
class Assembler {
 public:
  Assembler(const Pickle& pickle, const Storages& storages, uint64_t most_copied)
      : pickle_(pickle), storages_(storages), left_to_copy_(most_copied) {}

  Result<ParsedWeights> Run() {
    if (pickle_.top.kind != Kind::kDict) {
      return ForeignError("holds no dict of tensors; save the weights as safetensors");
    }
    const auto& items = pickle_.items[static_cast<size_t>(pickle_.top.number)];
    for (size_t i = 0; i < items.size(); i += 2) {
      if (items[i].kind != Kind::kText || items[i + 1].kind != Kind::kTensor) continue;
      const Status added =
          Add(items[i].text, pickle_.tensors[static_cast<size_t>(items[i + 1].number)]);
      if (!added.ok()) return Error(added.error()).At("tensor " + std::string(items[i].text));
    }
    if (weights_.entries.empty()) STI_RETURN_IF_ERROR(CheckNotWrapped(items));
    return std::move(weights_);
  }

 private:
  // Trainers save the dict of tensors as one entry among others: {"state_dict": {...}, "epoch": 3}.
  [[nodiscard]] Status CheckNotWrapped(const std::vector<PickleValue>& items) const {
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      if (items[i].kind != Kind::kText || items[i + 1].kind != Kind::kDict) continue;
      const auto& inner = pickle_.items[static_cast<size_t>(items[i + 1].number)];
      const bool tensors = std::any_of(inner.begin(), inner.end(), [](const PickleValue& value) {
        return value.kind == Kind::kTensor;
      });
      if (!tensors) continue;
      const std::string key(items[i].text);
      return ForeignError("its tensors lie in \"" + key +
                          "\"; take them out: python3 -c 'import torch; f = "
                          "\"pytorch_model.bin\"; torch.save(torch.load(f, weights_only=True)[\"" +
                          key + "\"], f)'");
    }
    return {};
  }

  Status Add(std::string_view name, const PickledTensor& tensor) {
    const StorageType& type = *tensor.storage.type;
    ParsedWeights::Entry entry;
    entry.type_name = type.name;
    entry.type = type.type;
    entry.shape = tensor.shape;
    const auto found = storages_.find(tensor.storage.key);
    if (found == storages_.end()) return Bad("its storage is missing");
    if (CheckedMul(tensor.storage.elements, type.element_bytes) != found->second.size()) {
      return Bad("its storage has " + std::to_string(found->second.size()) + " bytes, not " +
                 std::to_string(tensor.storage.elements) + " elements of " +
                 std::to_string(type.element_bytes));
    }
    if (entry.type) STI_RETURN_IF_ERROR(Place(tensor, found->second, &entry));
    if (!weights_.entries.emplace(name, std::move(entry)).second) return Bad("it stands twice");
    return {};
  }

  Status Place(const PickledTensor& tensor, Bytes storage, ParsedWeights::Entry* entry) {
    const uint64_t step = tensor.storage.type->element_bytes;
    const auto layout = LayoutOf(tensor);
    if (!layout) return Bad("its shape overflows");
    if (layout->count == 0) return {};
    const auto last = CheckedAdd(tensor.offset, layout->last);
    if (!last || *last >= tensor.storage.elements || layout->count > tensor.storage.elements) {
      return Bad("it lies outside its storage");
    }
    if (layout->in_order) {
      entry->bytes = storage.subspan(tensor.offset * step, layout->count * step);
      return {};
    }
    if (layout->count * step > left_to_copy_) {
      return Bad("scattered tensors take more bytes than the file has");
    }
    left_to_copy_ -= layout->count * step;
    weights_.copies.push_back(InOrder(tensor, layout->count, storage));
    entry->bytes = weights_.copies.back();
    entry->mapped = false;
    return {};
  }

  const Pickle& pickle_;
  const Storages& storages_;
  uint64_t left_to_copy_;
  ParsedWeights weights_;
};

Result<ParsedWeights> ParseArchive(Bytes file) {
  constexpr std::string_view kPickle = "data.pkl";
  STI_ASSIGN_OR_RETURN(const ZipMembers members, ReadZip(file));
  const auto is_pickle = [&](const auto& member) {
    const size_t slash = member.first.find('/');
    return slash != std::string::npos && member.first.substr(slash + 1) == kPickle;
  };
  const auto member = std::find_if(members.begin(), members.end(), is_pickle);
  if (member == members.end() || std::count_if(members.begin(), members.end(), is_pickle) != 1) {
    return Bad("an archive that torch.save did not write");
  }
  const std::string root = member->first.substr(0, member->first.size() - kPickle.size());
  if (const auto order = members.find(root + "byteorder"); order != members.end()) {
    constexpr std::string_view kLittle = "little";
    if (!std::equal(kLittle.begin(), kLittle.end(), order->second.begin(), order->second.end())) {
      return BigEndian();
    }
  }
  const auto base = static_cast<uint64_t>(member->second.data() - file.data());
  STI_ASSIGN_OR_RETURN(const Pickle pickle, RunPickle(member->second, base));
  Storages storages;
  for (const PickledStorage& storage : pickle.storages) {
    const auto found = members.find(root + "data/" + std::string(storage.key));
    if (found != members.end()) storages.emplace(storage.key, found->second);
  }
  return Assembler(pickle, storages, file.size()).Run();
}

/// Reads the older stream: pickles of a number, a version, the machine's ways, the dict and the
/// keys of its storages; then these, each behind its number of elements.
class StreamParser {
 public:
  explicit StreamParser(Bytes file) : file_(file) {}

  Result<ParsedWeights> Run() {
    next_ = kStreamStart.size();
    STI_ASSIGN_OR_RETURN(const Pickle version, Next());
    if (version.top.kind != Kind::kNumber || version.top.number != kStreamVersion) {
      return Bad("a stream of an unknown version");
    }
    STI_ASSIGN_OR_RETURN(const Pickle machine, Next());
    if (!IsLittleEndian(machine)) return BigEndian();
    STI_ASSIGN_OR_RETURN(const Pickle tensors, Next());
    STI_ASSIGN_OR_RETURN(const Pickle keys, Next());
    if (keys.top.kind != Kind::kList) return Bad("the list of storages is none");
    std::map<std::string_view, uint64_t> element_bytes;
    for (const PickledStorage& storage : tensors.storages) {
      element_bytes.emplace(storage.key, storage.type->element_bytes);
    }
    Storages storages;
    for (const PickleValue& key : keys.items[static_cast<size_t>(keys.top.number)]) {
      const auto found =
          key.kind == Kind::kText ? element_bytes.find(key.text) : element_bytes.end();
      if (found == element_bytes.end()) return Bad("a storage belongs to no tensor");
      STI_ASSIGN_OR_RETURN(const Bytes bytes, TakeStorage(found->second));
      if (!storages.emplace(found->first, bytes).second) return Bad("a storage stands twice");
    }
    return Assembler(tensors, storages, file_.size()).Run();
  }

 private:
  Result<Pickle> Next() {
    auto pickle = RunPickle(file_.subspan(next_), next_);
    if (pickle.ok()) next_ += pickle->bytes;
    return pickle;
  }

  static bool IsLittleEndian(const Pickle& machine) {
    if (machine.top.kind != Kind::kDict) return false;
    const auto& items = machine.items[static_cast<size_t>(machine.top.number)];
    for (size_t i = 0; i < items.size(); i += 2) {
      if (items[i].kind == Kind::kText && items[i].text == "little_endian") {
        return items[i + 1].kind == Kind::kBool && items[i + 1].number == 1;
      }
    }
    return false;
  }

  Result<Bytes> TakeStorage(uint64_t element_bytes) {
    if (!RangeFits(next_, sizeof(uint64_t), file_.size())) return Bad("a storage is missing");
    const auto bytes = CheckedMul(LoadLittle<uint64_t>(file_.data() + next_), element_bytes);
    next_ += sizeof(uint64_t);
    if (!bytes || !RangeFits(next_, *bytes, file_.size())) return Bad("a storage is cut short");
    const Bytes storage = file_.subspan(next_, *bytes);
    next_ += *bytes;
    return storage;
  }

  Bytes file_;
  uint64_t next_ = 0;
};

}  // namespace

Result<ParsedWeights> ParseTorchFile(const std::string& path, std::span<const uint8_t> file) {
  Result<ParsedWeights> weights = StartsWith(file, kZipStart) ? ParseArchive(file)
                                  : StartsWith(file, kStreamStart)
                                      ? StreamParser(file).Run()
                                      : Bad("not what torch.save writes");
  if (!weights.ok()) return Error(weights.error()).At(path);
  return weights;
}

}  // namespace sti
