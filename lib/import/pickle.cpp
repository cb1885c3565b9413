#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>

#include "base/little_endian.h"
#include "import/torch_file.h"
#include "import/weight_file.h"

namespace sti {
namespace {

using Kind = PickleValue::Kind;
using enum PickleValue::Kind;

constexpr uint64_t kMaxPickleBytes = uint64_t{16} << 20;
constexpr size_t kMaxStack = size_t{1} << 16;
constexpr size_t kMaxMarks = 64;
constexpr size_t kMaxItems = size_t{1} << 20;
constexpr size_t kMaxValues = size_t{1} << 21;

constexpr StorageType kStorageTypes[] = {{"FloatStorage", 4, DataType::kF32},
                                         {"HalfStorage", 2, DataType::kF16},
                                         {"BFloat16Storage", 2, DataType::kBF16},
                                         {"DoubleStorage", 8, {}},
                                         {"LongStorage", 8, {}},
                                         {"IntStorage", 4, {}},
                                         {"ShortStorage", 2, {}},
                                         {"CharStorage", 1, {}},
                                         {"ByteStorage", 1, {}},
                                         {"BoolStorage", 1, {}}};

/// Names that a pickle may have besides storages: the number of a kGlobal. Storages begin behind.
enum Global : int64_t { kOrderedDict, kRebuildTensor, kRebuildParameter, kFirstStorage };

struct GlobalName {
  std::string_view module;
  std::string_view name;
};
constexpr std::array<GlobalName, kFirstStorage> kGlobals = {
    {{"collections", "OrderedDict"},
     {"torch._utils", "_rebuild_tensor_v2"},
     {"torch._utils", "_rebuild_parameter"}}};

/// Runs one pickle. An opcode is a method; what it finds wrong it says with the place of the
/// opcode.
class Machine {
 public:
  Machine(std::span<const uint8_t> bytes, uint64_t base)
      : bytes_(bytes.first(std::min<uint64_t>(bytes.size(), kMaxPickleBytes))), base_(base) {}

  Result<Pickle> Run() {
    STI_ASSIGN_OR_RETURN(const auto start, Take(2));
    if (start[0] != kProtocol || start[1] != 2) {
      return Foreign("no pickle of protocol 2 begins");
    }
    while (true) {
      at_ = next_;
      STI_ASSIGN_OR_RETURN(const auto code, Take(1));
      if (code[0] == kStop) break;
      const auto* opcode = std::find_if(std::begin(kOpcodes), std::end(kOpcodes),
                                        [&](const Opcode& o) { return o.code == code[0]; });
      if (opcode == std::end(kOpcodes)) {
        char hex[8];
        std::snprintf(hex, sizeof(hex), "0x%02x", static_cast<unsigned>(code[0]));
        return Foreign("opcode " + std::string(hex) + ", which no tensor needs, stands");
      }
      STI_RETURN_IF_ERROR((this->*opcode->run)());
    }
    STI_ASSIGN_OR_RETURN(made_.top, Pop());
    made_.bytes = next_;
    return std::move(made_);
  }

 private:
  using Values = std::vector<PickleValue>;
  struct Opcode {
    uint8_t code;
    Status (Machine::*run)();
  };
  static constexpr uint8_t kProtocol = 0x80;
  static constexpr uint8_t kStop = '.';
  static const Opcode kOpcodes[28];

  [[nodiscard]] std::string Place() const { return " at byte " + std::to_string(base_ + at_); }
  [[nodiscard]] Error Foreign(const std::string& what) const {
    return ForeignError(what + Place() + "; save the weights as safetensors");
  }
  [[nodiscard]] Error Bad(const std::string& what) const {
    return DataError("the pickle is not sound: " + what + Place() +
                     "; get a sound copy of the file");
  }

  Result<std::span<const uint8_t>> Take(uint64_t count) {
    if (count > bytes_.size() - next_) return Bad("an opcode is cut short");
    const auto taken = bytes_.subspan(next_, count);
    next_ += count;
    return taken;
  }
  template <typename T>
  Result<T> Number() {
    STI_ASSIGN_OR_RETURN(const auto bytes, Take(sizeof(T)));
    return LoadLittle<T>(bytes.data());
  }
  Result<std::string_view> Text(uint64_t length) {
    STI_ASSIGN_OR_RETURN(const auto bytes, Take(length));
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  // Up to a line feed, which is taken too.
  Result<std::string_view> Line() {
    const auto rest = bytes_.subspan(next_);
    const auto end = std::find(rest.begin(), rest.end(), uint8_t{'\n'});
    if (end == rest.end()) return Bad("a name is cut short");
    STI_ASSIGN_OR_RETURN(const auto text, Text(static_cast<uint64_t>(end - rest.begin()) + 1));
    return text.substr(0, text.size() - 1);
  }

  Status Push(const PickleValue& value) {
    if (stack_.size() == kMaxStack) return Bad("too many values wait");
    stack_.push_back(value);
    return {};
  }
  [[nodiscard]] size_t Bottom() const { return marks_.empty() ? 0 : marks_.back(); }
  Result<PickleValue> Pop() {
    if (stack_.size() <= Bottom()) return Bad("a value is missing");
    const PickleValue value = stack_.back();
    stack_.pop_back();
    return value;
  }
  // The values above the last mark, which go with it.
  Result<Values> PopToMark() {
    if (marks_.empty()) return Bad("a mark is missing");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    Values values(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return values;
  }
  Result<Values> PopSome(size_t count) {
    if (stack_.size() - Bottom() < count) return Bad("values are missing");
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    Values values(first, stack_.end());
    stack_.erase(first, stack_.end());
    return values;
  }
  // Returns the next value on the stack, which stays there; it has to be of that kind.
  Result<PickleValue> Peek(Kind kind) const {
    if (stack_.size() <= Bottom() || stack_.back().kind != kind) return Bad("a value misfits");
    return stack_.back();
  }
  [[nodiscard]] Values& ItemsOf(const PickleValue& value) {
    return made_.items[static_cast<size_t>(value.number)];
  }
  // Counts values of tuples, lists and dicts, which nothing takes back.
  Status Hold(size_t count) {
    held_ += count;
    return held_ > kMaxValues ? Bad("too many values are held") : Status();
  }
  Status PushItems(Kind kind, Values values) {
    if (made_.items.size() == kMaxItems) return Bad("too many values stand");
    STI_RETURN_IF_ERROR(Hold(values.size()));
    made_.items.push_back(std::move(values));
    return Push({kind, std::ssize(made_.items) - 1, {}});
  }

  Status Mark() {
    if (marks_.size() == kMaxMarks) return Bad("values are nested too deep");
    marks_.push_back(stack_.size());
    return {};
  }
  Status EmptyDict() { return PushItems(kDict, {}); }
  Status EmptyList() { return PushItems(kList, {}); }
  Status EmptyTuple() { return PushItems(kTuple, {}); }
  Status None() { return Push({}); }
  Status True() { return Push({kBool, 1, {}}); }
  Status False() { return Push({kBool, 0, {}}); }
  Status Byte() {
    STI_ASSIGN_OR_RETURN(const uint8_t number, Number<uint8_t>());
    return Push({kNumber, number, {}});
  }
  Status Short() {
    STI_ASSIGN_OR_RETURN(const uint16_t number, Number<uint16_t>());
    return Push({kNumber, number, {}});
  }
  Status Int() {
    STI_ASSIGN_OR_RETURN(const uint32_t number, Number<uint32_t>());
    return Push({kNumber, static_cast<int32_t>(number), {}});
  }
  Status Long();
  Status Unicode() {
    STI_ASSIGN_OR_RETURN(const uint32_t length, Number<uint32_t>());
    STI_ASSIGN_OR_RETURN(const std::string_view text, Text(length));
    return Push({kText, 0, text});
  }

  // Places in the memo are given in order.
  Status Put(uint64_t place) {
    if (place > memo_.size()) return Bad("a place of the memo is left out");
    if (stack_.size() <= Bottom()) return Bad("a value is missing");
    if (place == kMaxValues) return Bad("too many values are remembered");
    if (place == memo_.size()) memo_.emplace_back();
    memo_[place] = stack_.back();
    return {};
  }
  Status Get(uint64_t place) {
    if (place >= memo_.size()) return Bad("a place of the memo is empty");
    return Push(memo_[place]);
  }
  Status BytePut() {
    STI_ASSIGN_OR_RETURN(const uint8_t place, Number<uint8_t>());
    return Put(place);
  }
  Status LongPut() {
    STI_ASSIGN_OR_RETURN(const uint32_t place, Number<uint32_t>());
    return Put(place);
  }
  Status ByteGet() {
    STI_ASSIGN_OR_RETURN(const uint8_t place, Number<uint8_t>());
    return Get(place);
  }
  Status LongGet() {
    STI_ASSIGN_OR_RETURN(const uint32_t place, Number<uint32_t>());
    return Get(place);
  }

  template <size_t kCount>
  Status TupleOf() {
    STI_ASSIGN_OR_RETURN(Values values, PopSome(kCount));
    return PushItems(kTuple, std::move(values));
  }
  Status Tuple() {
    STI_ASSIGN_OR_RETURN(Values values, PopToMark());
    return PushItems(kTuple, std::move(values));
  }
  // Puts values behind those of the dict or the list that is on top.
  Status Extend(Kind kind, Result<Values> values) {
    if (!values.ok()) return values.error();
    STI_ASSIGN_OR_RETURN(const PickleValue target, Peek(kind));
    if (kind == kDict && values->size() % 2 != 0) return Bad("a key has no value");
    STI_RETURN_IF_ERROR(Hold(values->size()));
    Values& items = ItemsOf(target);
    items.insert(items.end(), values->begin(), values->end());
    return {};
  }
  Status SetItem() { return Extend(kDict, PopSome(2)); }
  Status SetItems() { return Extend(kDict, PopToMark()); }
  Status Append() { return Extend(kList, PopSome(1)); }
  Status Appends() { return Extend(kList, PopToMark()); }

  // Versions of modules and the like, that PyTorch hangs on the dict: nothing to us.
  Status Build() {
    STI_RETURN_IF_ERROR(Peek(kDict));
    STI_RETURN_IF_ERROR(Pop());
    return Peek(kDict).ok() ? Status() : Bad("what is built on is no dict");
  }

  Status NameGlobal();
  Status Persistent();
  Status Reduce();
  Status RebuildTensor(const Values& arguments);
  Result<std::vector<uint64_t>> Extents(const PickleValue& value) {
    if (value.kind != kTuple) return Bad("a shape is no tuple");
    std::vector<uint64_t> extents;
    for (const PickleValue& extent : ItemsOf(value)) {
      if (extent.kind != kNumber || extent.number < 0) return Bad("a shape is none");
      extents.push_back(static_cast<uint64_t>(extent.number));
    }
    if (extents.size() > kMaxDimensions) return Bad("a tensor has more than 8 dimensions");
    return extents;
  }

  std::span<const uint8_t> bytes_;
  uint64_t base_;
  uint64_t next_ = 0;  // byte behind what was taken
  uint64_t at_ = 0;    // byte of the opcode that runs
  Values stack_;
  std::vector<size_t> marks_;  // heights of the stack
  Values memo_;
  size_t held_ = 0;
  Pickle made_;
};

const Machine::Opcode Machine::kOpcodes[] = {
    {'(', &Machine::Mark},        {'}', &Machine::EmptyDict},   {']', &Machine::EmptyList},
    {')', &Machine::EmptyTuple},  {'N', &Machine::None},        {0x88, &Machine::True},
    {0x89, &Machine::False},      {'K', &Machine::Byte},        {'M', &Machine::Short},
    {'J', &Machine::Int},         {0x8A, &Machine::Long},       {'X', &Machine::Unicode},
    {'q', &Machine::BytePut},     {'r', &Machine::LongPut},     {'h', &Machine::ByteGet},
    {'j', &Machine::LongGet},     {'t', &Machine::Tuple},       {0x85, &Machine::TupleOf<1>},
    {0x86, &Machine::TupleOf<2>}, {0x87, &Machine::TupleOf<3>}, {'s', &Machine::SetItem},
    {'u', &Machine::SetItems},    {'a', &Machine::Append},      {'e', &Machine::Appends},
    {'b', &Machine::Build},       {'c', &Machine::NameGlobal},  {'Q', &Machine::Persistent},
    {'R', &Machine::Reduce}};

// Two's complement, as few bytes as it needs.
Status Machine::Long() {
  STI_ASSIGN_OR_RETURN(const uint8_t length, Number<uint8_t>());
  if (length > sizeof(uint64_t)) return Bad("a number is too large");
  STI_ASSIGN_OR_RETURN(const auto bytes, Take(length));
  const bool negative = length > 0 && bytes[length - 1] >= 0x80;
  uint64_t number = negative ? UINT64_MAX : 0;
  for (size_t i = length; i-- > 0;) number = number << 8 | bytes[i];
  return Push({kNumber, static_cast<int64_t>(number), {}});
}

Status Machine::NameGlobal() {
  STI_ASSIGN_OR_RETURN(const std::string_view module, Line());
  STI_ASSIGN_OR_RETURN(const std::string_view name, Line());
  for (int64_t i = 0; i < std::ssize(kGlobals); ++i) {
    const GlobalName& global = kGlobals[static_cast<size_t>(i)];
    if (global.module == module && global.name == name) return Push({kGlobal, i, {}});
  }
  for (int64_t i = 0; module == "torch" && i < std::ssize(kStorageTypes); ++i) {
    if (kStorageTypes[i].name == name) return Push({kGlobal, kFirstStorage + i, {}});
  }
  return Foreign(std::string(module) + "." + std::string(name) +
                 ", which no tensor needs, is named");
}

// ('storage', class, key, device, elements), and None in the older stream.
Status Machine::Persistent() {
  STI_ASSIGN_OR_RETURN(const PickleValue id, Pop());
  if (id.kind != kTuple) return Bad("the name of a storage is no tuple");
  const Values& parts = ItemsOf(id);
  const bool sound = (parts.size() == 5 || (parts.size() == 6 && parts[5].kind == kNone)) &&
                     parts[0].kind == kText && parts[0].text == "storage" &&
                     parts[1].kind == kGlobal && parts[1].number >= kFirstStorage &&
                     parts[2].kind == kText && parts[4].kind == kNumber && parts[4].number >= 0;
  if (!sound) return Bad("what names a storage is none");
  if (made_.storages.size() == kMaxItems) return Bad("too many storages stand");
  made_.storages.push_back({&kStorageTypes[parts[1].number - kFirstStorage], parts[2].text,
                            static_cast<uint64_t>(parts[4].number)});
  return Push({kStorage, std::ssize(made_.storages) - 1, {}});
}

Status Machine::Reduce() {
  STI_ASSIGN_OR_RETURN(const PickleValue tuple, Peek(kTuple));
  STI_RETURN_IF_ERROR(Pop());
  STI_ASSIGN_OR_RETURN(const PickleValue callee, Peek(kGlobal));
  STI_RETURN_IF_ERROR(Pop());
  const Values& arguments = ItemsOf(tuple);
  if (callee.number == kOrderedDict && arguments.empty()) return EmptyDict();
  if (callee.number == kRebuildTensor) return RebuildTensor(arguments);
  if (callee.number == kRebuildParameter && arguments.size() == 3 && arguments[0].kind == kTensor) {
    return Push(arguments[0]);
  }
  return Bad("what is called does not take this");
}

// (storage, offset, shape, strides, requires_grad, hooks); what may follow is of no use here.
Status Machine::RebuildTensor(const Values& arguments) {
  if (arguments.size() < 6 || arguments[0].kind != kStorage || arguments[1].kind != kNumber ||
      arguments[1].number < 0) {
    return Bad("a tensor is not described");
  }
  PickledTensor tensor;
  tensor.storage = made_.storages[static_cast<size_t>(arguments[0].number)];
  tensor.offset = static_cast<uint64_t>(arguments[1].number);
  STI_ASSIGN_OR_RETURN(tensor.shape, Extents(arguments[2]));
  STI_ASSIGN_OR_RETURN(tensor.strides, Extents(arguments[3]));
  if (tensor.shape.size() != tensor.strides.size()) return Bad("a stride is missing");
  if (made_.tensors.size() == kMaxItems) return Bad("too many tensors stand");
  made_.tensors.push_back(std::move(tensor));
  return Push({kTensor, std::ssize(made_.tensors) - 1, {}});
}

}  // namespace

Result<Pickle> RunPickle(std::span<const uint8_t> bytes, uint64_t base) {
  return Machine(bytes, base).Run();
}

}  // namespace sti
