#include <gtest/gtest.h>

#include <set>

#include "base/utf8.h"
#include "import/torch_file.h"
#include "support/expect.h"
#include "support/torch_writer.h"

namespace sti {
namespace {

using Kind = PickleValue::Kind;

std::string Repeated(std::string_view opcodes, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += opcodes;
  return all;
}

const TensorToPickle kTensor = {"a", "HalfStorage", "7", 20, 2, {3, 4}, {4, 1}};

TEST(Pickle, BuildsWhatTensorsAreDescribedBy) {
  const std::string text = PickleOf({kTensor});
  const std::string longer = text + "more";
  const auto pickle = RunPickle(AsBytes(longer), 0);
  ASSERT_TRUE(Succeeded(pickle));
  EXPECT_EQ(pickle->bytes, text.size()) << "what follows belongs to others";
  ASSERT_EQ(pickle->top.kind, Kind::kDict);
  const auto& items = pickle->items[static_cast<size_t>(pickle->top.number)];
  ASSERT_EQ(items.size(), 2u) << "what the dict has besides is not of it";
  EXPECT_EQ(items[0].text, "a");
  ASSERT_EQ(items[1].kind, Kind::kTensor);
  const PickledTensor& tensor = pickle->tensors[static_cast<size_t>(items[1].number)];
  EXPECT_EQ(tensor.storage.type->type, DataType::kF16);
  EXPECT_EQ(tensor.storage.key, "7");
  EXPECT_EQ(tensor.storage.elements, 20u);
  EXPECT_EQ(tensor.offset, 2u);
  EXPECT_EQ(tensor.shape, (std::vector<uint64_t>{3, 4}));
  EXPECT_EQ(tensor.strides, (std::vector<uint64_t>{4, 1}));
}

TEST(Pickle, ReadsNumbersOfAllSizes) {
  const std::pair<std::string, int64_t> numbers[] = {
      {"K\xFF", 255},
      {"M\xFF\xFF", 65535},
      {"J\xFF\xFF\xFF\xFF", -1},
      {std::string("\x8A\0", 2), 0},
      {"\x8A\x01\x80", -128},
      {std::string("\x8A\x02\x80\0", 4), 128},
      {std::string("\x8A\x05\0\0\0\0\x01", 7), int64_t{1} << 32}};
  for (const auto& [opcodes, number] : numbers) {
    const std::string text = WholePickle(opcodes);
    const auto pickle = RunPickle(AsBytes(text), 0);
    ASSERT_TRUE(Succeeded(pickle));
    EXPECT_EQ(pickle->top.kind, Kind::kNumber);
    EXPECT_EQ(pickle->top.number, number);
  }
}

TEST(Pickle, RemembersValues) {
  const std::string text = WholePickle("(" + pickle::Text("a") + std::string("q\0", 2) + "K\x05r" +
                                       std::string("\x01\0\0\0h\0j\x01\0\0\0t", 12));
  const auto pickle = RunPickle(AsBytes(text), 0);
  ASSERT_TRUE(Succeeded(pickle));
  const auto& items = pickle->items[static_cast<size_t>(pickle->top.number)];
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(items[2].text, "a");
  EXPECT_EQ(items[3].number, 5);
}

// Whatever could import, call, or make an object, and all that nobody needs: refused where it
// stands.
TEST(Pickle, RefusesAllOtherOpcodes) {
  const std::set<int> known = {'(',  '}',  ']',  ')', 'N', 0x88, 0x89, 'K', 'M', 'J',
                               0x8A, 'X',  'q',  'r', 'h', 'j',  't',  's', 'u', 'a',
                               0x85, 0x86, 0x87, 'e', 'b', 'c',  'Q',  'R', '.'};
  for (int code = 0; code < 256; ++code) {
    const std::string text = WholePickle("N" + std::string(1, static_cast<char>(code)));
    const auto pickle = RunPickle(AsBytes(text), 1000);
    const bool refused = FailedWith(pickle, ErrorKind::kForeign, "which no tensor needs");
    EXPECT_EQ(refused, known.count(code) == 0) << code;
  }
  EXPECT_TRUE(FailedWith(RunPickle(AsBytes(WholePickle("Ni")), 1000), ErrorKind::kForeign,
                         "opcode 0x69, which no tensor needs, stands at byte 1003"));
}

TEST(Pickle, NamesNothingButTensors) {
  const std::pair<const char*, const char*> names[] = {
      {"os", "system"},          {"builtins", "eval"},           {"torch", "load"},
      {"torch", "Float"},        {"collections", "defaultdict"}, {"torch._utils", "OrderedDict"},
      {"torchx", "FloatStorage"}};
  for (const auto& [module, name] : names) {
    const std::string text = WholePickle("N" + pickle::Global(module, name) + ")R");
    EXPECT_TRUE(FailedWith(RunPickle(AsBytes(text), 40), ErrorKind::kForeign,
                           std::string(module) + "." + name +
                               ", which no tensor needs, is named at byte 43; save the weights as "
                               "safetensors"));
  }
  const std::string escape = WholePickle(pickle::Global("\x1B[2J", "x"));
  EXPECT_TRUE(FailedWith(RunPickle(AsBytes(escape), 0), ErrorKind::kForeign, "?[2J.x"));
}

TEST(Pickle, RefusesWhatIsNotSound) {
  const std::string dict = pickle::Global("collections", "OrderedDict");
  const std::string rebuild = pickle::Global("torch._utils", "_rebuild_tensor_v2");
  const std::string parameter = pickle::Global("torch._utils", "_rebuild_parameter");
  const std::pair<std::string, const char*> broken[] = {
      {"", "a value is missing"},
      {"(", "a value is missing"},
      {"N(.", "a value is missing"},
      {"t", "a mark is missing"},
      {"N(\x85", "values are missing"},
      {"N(q\1", "a place of the memo is left out"},
      {std::string("q\0", 2), "a value is missing"},
      {"h\1", "a place of the memo is empty"},
      {"Ns", "values are missing"},
      {"NNNs", "a value misfits"},
      {"N(NNu", "a value misfits"},
      {"}(Nu", "a key has no value"},
      {"}Na", "a value misfits"},
      {"}Nb", "a value misfits"},
      {"N}b", "what is built on is no dict"},
      {"\x8A\x09" + std::string(9, 'x'), "a number is too large"},
      {"NQ", "the name of a storage is no tuple"},
      {")Q", "what names a storage is none"},
      {"NNR", "a value misfits"},
      {"N)R", "a value misfits"},
      {dict + "N\x85R", "what is called does not take this"},
      {pickle::Global("torch", "FloatStorage") + ")R", "what is called does not take this"},
      {rebuild + ")R", "a tensor is not described"},
      {parameter + "NNN\x87R", "what is called does not take this"}};
  for (const auto& [opcodes, words] : broken) {
    const std::string text = WholePickle(opcodes);
    EXPECT_TRUE(FailedWith(RunPickle(AsBytes(text), 0), ErrorKind::kDamaged, words)) << opcodes;
  }
  for (const char* start : {"\x80\x03N.", "\x80\x05N.", "(N.", "N."}) {
    EXPECT_TRUE(
        FailedWith(RunPickle(AsBytes(start), 9), ErrorKind::kForeign, "no pickle of protocol 2"));
  }
}

TEST(Pickle, RefusesStoragesThatAreNone) {
  const auto named = [](std::string_view kind, const std::string& type, const std::string& more) {
    return WholePickle("(" + pickle::Text(kind) + type + pickle::Text("0") + pickle::Text("cpu") +
                       pickle::Number(1) + more + "tQ");
  };
  const std::string half = pickle::Global("torch", "HalfStorage");
  for (const char* more : {"", "N"}) {
    EXPECT_TRUE(Succeeded(RunPickle(AsBytes(named("storage", half, more)), 0)));
  }
  for (const std::string& text :
       {named("storage", half, "K\1"), named("storage", half, "NN"), named("module", half, ""),
        named("storage", pickle::Global("collections", "OrderedDict"), ""),
        named("storage", "N", "")}) {
    EXPECT_TRUE(Refused(RunPickle(AsBytes(text), 0), "what names a storage is none"));
  }
}

TEST(Pickle, RefusesTensorsThatAreNone) {
  const auto refused = [](TensorToPickle tensor, const char* words) {
    const std::string text = PickleOf({std::move(tensor)});
    EXPECT_TRUE(FailedWith(RunPickle(AsBytes(text), 0), ErrorKind::kDamaged, words)) << words;
  };
  TensorToPickle tensor = kTensor;
  tensor.offset = -1;
  refused(tensor, "a tensor is not described");
  tensor = kTensor;
  tensor.shape = {-3, 4};
  refused(tensor, "a shape is none");
  tensor = kTensor;
  tensor.strides = {1};
  refused(tensor, "a stride is missing");
  tensor = kTensor;
  tensor.elements = -20;
  refused(tensor, "what names a storage is none");
  tensor.elements = 20;
  tensor.shape.assign(9, 1);
  tensor.strides.assign(9, 1);
  refused(tensor, "more than 8 dimensions");
}

TEST(Pickle, EveryPrefixIsRefused) {
  const std::string whole = PickleOf({kTensor});
  ASSERT_TRUE(RunPickle(AsBytes(whole), 0).ok());
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(RunPickle(AsBytes(whole.substr(0, length)), 0).ok()) << length;
  }
}

TEST(Pickle, HasLimits) {
  const std::pair<std::string, const char*> large[] = {
      {Repeated("N", 65537), "too many values wait"},
      {Repeated("(", 65), "values are nested too deep"},
      {"]" + Repeated("]a", (1 << 20) + 1), "too many values stand"},
      {"]" + Repeated("Na", (1 << 21) + 1), "too many values are held"},
      {"X\xFF\xFF\xFF\xFF", "an opcode is cut short"},
      {pickle::Text(std::string(17 << 20, 'x')), "an opcode is cut short"}};
  for (const auto& [opcodes, words] : large) {
    const std::string text = WholePickle(opcodes);
    EXPECT_TRUE(FailedWith(RunPickle(AsBytes(text), 0), ErrorKind::kDamaged, words));
  }
  std::string puts = "N";
  for (uint32_t place = 0; place <= 1 << 21; ++place) {
    puts += 'r';
    for (int i = 0; i < 32; i += 8) puts += static_cast<char>(place >> i & 0xFF);
  }
  EXPECT_TRUE(Refused(RunPickle(AsBytes(WholePickle(puts)), 0), "too many values are remembered"));
}

}  // namespace
}  // namespace sti
