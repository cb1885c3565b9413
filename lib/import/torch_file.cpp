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

namespace {

using Bytes = std::span<const uint8_t>;

constexpr uint64_t kMaxMembers = uint64_t{1} << 20;
constexpr uint32_t kIn64 = 0xFFFFFFFFu;  // the number stands in zip64's record or field

constexpr uint32_t kEndMagic = 0x06054B50;
constexpr uint32_t kLocatorMagic = 0x07064B50;
constexpr uint32_t kEnd64Magic = 0x06064B50;
constexpr uint32_t kEntryMagic = 0x02014B50;
constexpr uint32_t kLocalMagic = 0x04034B50;

constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kLocatorBytes = 20;
constexpr uint64_t kEnd64Bytes = 56;
constexpr uint64_t kEntryBytes = 46;
constexpr uint64_t kLocalBytes = 30;

Error BadArchive(const std::string& what) {
  return DataError("as a zip archive, " + what + "; get a sound copy of the file");
}

/// Where the directory lies and how many entries it has.
struct Directory {
  uint64_t members = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;
};

/// An entry of the directory.
struct Member {
  std::string_view name;
  uint64_t bytes = 0;
  uint64_t packed_bytes = 0;
  uint64_t offset = 0;  // of its local header
};

uint16_t U16(Bytes bytes, uint64_t at) { return LoadLittle<uint16_t>(bytes.data() + at); }
uint32_t U32(Bytes bytes, uint64_t at) { return LoadLittle<uint32_t>(bytes.data() + at); }
uint64_t U64(Bytes bytes, uint64_t at) { return LoadLittle<uint64_t>(bytes.data() + at); }

// The record at the very end, which may be followed by a comment that it gives the length of.
std::optional<uint64_t> FindEnd(Bytes file) {
  for (uint64_t comment = 0; comment <= 0xFFFF && kEndBytes + comment <= file.size(); ++comment) {
    const uint64_t at = file.size() - kEndBytes - comment;
    if (U32(file, at) == kEndMagic && U16(file, at + 20) == comment) return at;
  }
  return std::nullopt;
}

Result<Directory> FindDirectory(Bytes file) {
  const auto end = FindEnd(file);
  if (!end) return BadArchive("it has no end");
  Directory directory{U16(file, *end + 10), U32(file, *end + 12), U32(file, *end + 16)};
  if (*end >= kLocatorBytes && U32(file, *end - kLocatorBytes) == kLocatorMagic) {
    const uint64_t at = U64(file, *end - kLocatorBytes + 8);
    if (!RangeFits(at, kEnd64Bytes, file.size()) || U32(file, at) != kEnd64Magic) {
      return BadArchive("it has no end of 64 bits where it says");
    }
    directory = {U64(file, at + 32), U64(file, at + 40), U64(file, at + 48)};
  }
  if (!RangeFits(directory.offset, directory.bytes, file.size())) {
    return BadArchive("its directory lies outside the file");
  }
  if (directory.members > kMaxMembers) return BadArchive("it has more than 2^20 members");
  return directory;
}

// Numbers that do not fit an entry stand in this order in a field behind its name.
Status ReadExtra(Bytes extra, Member* member) {
  constexpr uint16_t kZip64 = 1;
  while (extra.size() >= 4) {
    const uint16_t id = U16(extra, 0);
    const uint16_t length = U16(extra, 2);
    if (length > extra.size() - 4) break;
    Bytes field = extra.subspan(4, length);
    extra = extra.subspan(4 + length);
    if (id != kZip64) continue;
    for (uint64_t* number : {&member->bytes, &member->packed_bytes, &member->offset}) {
      if (*number != kIn64) continue;
      if (field.size() < sizeof(uint64_t)) return BadArchive("a field of 64 bits is cut short");
      *number = U64(field, 0);
      field = field.subspan(sizeof(uint64_t));
    }
    return {};
  }
  return {};
}

// Takes the next entry off the directory.
Result<Member> TakeMember(Bytes* directory) {
  constexpr uint16_t kEncrypted = 1;
  const Bytes entry = *directory;
  if (entry.size() < kEntryBytes || U32(entry, 0) != kEntryMagic) {
    return BadArchive("an entry of its directory is missing");
  }
  const uint64_t name = U16(entry, 28);
  const uint64_t extra = U16(entry, 30);
  const uint64_t whole = kEntryBytes + name + extra + U16(entry, 32);
  if (whole > entry.size()) return BadArchive("an entry of its directory is cut short");
  Member member;
  member.name = {reinterpret_cast<const char*>(entry.data()) + kEntryBytes, name};
  member.packed_bytes = U32(entry, 20);
  member.bytes = U32(entry, 24);
  member.offset = U32(entry, 42);
  STI_RETURN_IF_ERROR(ReadExtra(entry.subspan(kEntryBytes + name, extra), &member));
  if (U16(entry, 10) != 0 || (U16(entry, 8) & kEncrypted) != 0) {
    return ForeignError("member " + std::string(member.name) +
                        " is packed or encrypted; save the weights as safetensors");
  }
  if (member.bytes != member.packed_bytes) return BadArchive("a stored member has two sizes");
  *directory = entry.subspan(whole);
  return member;
}

Result<Bytes> BytesOfMember(Bytes file, const Member& member) {
  if (!RangeFits(member.offset, kLocalBytes, file.size()) ||
      U32(file, member.offset) != kLocalMagic) {
    return BadArchive("a member does not begin where it should");
  }
  const uint64_t begin =
      member.offset + kLocalBytes + U16(file, member.offset + 26) + U16(file, member.offset + 28);
  if (!RangeFits(begin, member.bytes, file.size()))
    return BadArchive("a member lies outside the file");
  return file.subspan(begin, member.bytes);
}

}  // namespace

Result<ZipMembers> ReadZip(std::span<const uint8_t> file) {
  STI_ASSIGN_OR_RETURN(const Directory directory, FindDirectory(file));
  Bytes entries = file.subspan(directory.offset, directory.bytes);
  ZipMembers members;
  for (uint64_t i = 0; i < directory.members; ++i) {
    STI_ASSIGN_OR_RETURN(const Member member, TakeMember(&entries));
    STI_ASSIGN_OR_RETURN(const Bytes bytes, BytesOfMember(file, member));
    if (!members.emplace(member.name, bytes).second) return BadArchive("a member stands twice");
  }
  return members;
}

}  // namespace sti
