#include "import/torch_file.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "import/safetensors.h"
#include "support/expect.h"
#include "support/test_container.h"
#include "support/tiny_model.h"
#include "support/torch_writer.h"

namespace sti {
namespace {

Result<ParsedWeights> Parse(const std::string& file) { return ParseTorchFile("f", AsBytes(file)); }

/// Returns an archive of one storage, "0" of `bytes`, and of tensors in it.
std::string ArchiveOf(const std::vector<TensorToPickle>& tensors, const std::string& bytes) {
  return ZipBytes({{"m/data.pkl", PickleOf(tensors)}, {"m/data/0", bytes}});
}

std::string TextOf(const ParsedWeights& weights, const std::string& name) {
  const auto& bytes = weights.entries.at(name).bytes;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void ExpectSame(const ParsedWeights& found, const ParsedWeights& expected) {
  for (const auto& [name, tensor] : expected.entries) {
    SCOPED_TRACE(name);
    const auto at = found.entries.find(name);
    ASSERT_NE(at, found.entries.end());
    EXPECT_EQ(at->second.type, tensor.type);
    EXPECT_EQ(at->second.shape, tensor.shape);
    EXPECT_TRUE(std::equal(at->second.bytes.begin(), at->second.bytes.end(), tensor.bytes.begin(),
                           tensor.bytes.end()));
  }
}

TEST(TorchFile, BothFormsAreReadAsSafetensorsAre) {
  for (const DataType type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    TinyModelOptions options;
    options.data_type = type;
    const auto tensors = TinyTensors(options);
    const std::string text = SafetensorsBytes(tensors);
    const auto expected = ParseSafetensors("f", AsBytes(text));
    ASSERT_TRUE(Succeeded(expected));
    for (const std::string& file : {ZipBytes(TorchMembers(tensors)), TorchStream(tensors)}) {
      const auto found = Parse(file);
      ASSERT_TRUE(Succeeded(found));
      EXPECT_EQ(found->entries.size(), expected->entries.size());
      EXPECT_TRUE(found->copies.empty());
      ExpectSame(*found, *expected);
    }
  }
}

// Trainers save the dict of tensors as one entry of another.
TEST(TorchFile, NamesTheEntryThatTheTensorsLieIn) {
  const std::string inner = PickleOf(Described(TinyTensors({})));
  const std::string dict = inner.substr(2, inner.size() - 3);
  auto members = TorchMembers(TinyTensors({}));
  for (auto& [name, bytes] : members) {
    if (!name.ends_with("data.pkl")) continue;
    bytes = WholePickle("}" + pickle::Text("epoch") + pickle::Number(3) + "s" +
                        pickle::Text("state_dict") + dict + "s");
  }
  EXPECT_TRUE(FailedWith(Parse(ZipBytes(members)), ErrorKind::kForeign,
                         "its tensors lie in \"state_dict\"; take them out: python3 -c"));
}

// The files hold what PyTorch 1.13 wrote of tests/data/distilbert-tiny: to the stream transposed
// and as parameters.
TEST(TorchFile, ReadsWhatPyTorchWrote) {
  const std::string data = STI_SOURCE_DIR "/tests/data/";
  const auto model = FileBytes(data + "distilbert-tiny/model.safetensors");
  const auto expected = ParseSafetensors("f", model);
  ASSERT_TRUE(Succeeded(expected));
  for (const char* name : {"archive.bin", "stream.bin"}) {
    SCOPED_TRACE(name);
    const auto file = FileBytes(data + "torch-tiny/" + name);
    const auto found = ParseTorchFile("f", file);
    ASSERT_TRUE(Succeeded(found));
    ExpectSame(*found, *expected);
    const auto& ids = found->entries.at("bert.embeddings.position_ids");
    EXPECT_EQ(ids.type_name, "LongStorage");
    EXPECT_FALSE(ids.type) << "no weights";
    EXPECT_EQ(found->entries.count("note"), 0u) << "no tensor";
  }
}

TEST(TorchFile, PutsScatteredElementsInOrder) {
  const std::string storage = "a-b-c-d-e-f-g-h-";
  const std::string archive =
      ArchiveOf({{"straight", "HalfStorage", "0", 8, 1, {2, 3}, {3, 1}},
                 {"turned", "HalfStorage", "0", 8, 1, {3, 2}, {1, 3}},
                 {"every second", "HalfStorage", "0", 8, 0, {4}, {2}},
                 {"cube", "HalfStorage", "0", 8, 0, {2, 1, 2, 2}, {1, 99, 4, 2}},
                 {"one", "HalfStorage", "0", 8, 7, {}, {}},
                 {"of one", "HalfStorage", "0", 8, 7, {1, 1}, {5, 9}},
                 {"none", "HalfStorage", "0", 8, 99, {2, 0}, {1, 1}}},
                storage);
  const auto found = Parse(archive);
  ASSERT_TRUE(Succeeded(found));
  const std::tuple<const char*, const char*, bool> expected[] = {
      {"straight", "b-c-d-e-f-g-", true},
      {"turned", "b-e-c-f-d-g-", false},
      {"every second", "a-c-e-g-", false},
      {"cube", "a-c-e-g-b-d-f-h-", false},
      {"one", "h-", true},
      {"of one", "h-", true},
      {"none", "", true}};
  for (const auto& [name, text, mapped] : expected) {
    EXPECT_EQ(TextOf(*found, name), text);
    EXPECT_EQ(found->entries.at(name).mapped, mapped) << name;
  }
}

TEST(TorchFile, RefusesTensorsOutsideTheirStorage) {
  const std::string storage(16, 'x');
  constexpr int64_t kHuge = INT64_MAX;
  const std::pair<TensorToPickle, const char*> broken[] = {
      {{"t", "HalfStorage", "0", 8, 0, {9}, {1}}, "it lies outside its storage"},
      {{"t", "HalfStorage", "0", 8, 8, {1}, {1}}, "it lies outside its storage"},
      {{"t", "HalfStorage", "0", 8, 1, {2, 4}, {4, 1}}, "it lies outside its storage"},
      {{"t", "HalfStorage", "0", 8, 0, {3, 2}, {4, 1}}, "it lies outside its storage"},
      {{"t", "HalfStorage", "0", 8, 0, {100, 100}, {0, 0}}, "it lies outside its storage"},
      {{"t", "HalfStorage", "0", 8, kHuge, {2}, {kHuge}}, "it lies outside its storage"},
      {{"t", "HalfStorage", "0", 8, 0, {kHuge, 4}, {0, 0}}, "its shape overflows"},
      {{"t", "HalfStorage", "0", 8, 0, {5}, {kHuge}}, "its shape overflows"},
      {{"t", "HalfStorage", "0", 8, 0, {3, 3}, {kHuge, kHuge}}, "its shape overflows"},
      {{"t", "HalfStorage", "0", 7, 0, {1}, {1}}, "its storage has 16 bytes, not 7 elements of 2"},
      {{"t", "FloatStorage", "0", 8, 0, {1}, {1}}, "its storage has 16 bytes, not 8 elements"},
      {{"t", "HalfStorage", "0", kHuge, 0, {1}, {1}}, "its storage has 16 bytes"},
      {{"t", "HalfStorage", "1", 8, 0, {1}, {1}}, "its storage is missing"}};
  for (const auto& [tensor, words] : broken) {
    EXPECT_TRUE(FailedWith(Parse(ArchiveOf({tensor}, storage)), ErrorKind::kDamaged,
                           "f: tensor t: " + std::string(words)));
  }
  const TensorToPickle sound = {"t", "HalfStorage", "0", 8, 0, {8}, {1}};
  EXPECT_TRUE(Succeeded(Parse(ArchiveOf({sound}, storage))));
  EXPECT_TRUE(Refused(Parse(ArchiveOf({sound, sound}, storage)), "it stands twice"));
}

// A small file is no way to much memory.
TEST(TorchFile, CopiesNoMoreThanTheFileHas) {
  constexpr int64_t kElements = 100'000;
  std::vector<TensorToPickle> tensors;
  const std::string storage(2 * kElements, 'x');
  for (const char* name : {"a", "b"}) {
    EXPECT_TRUE(Succeeded(Parse(ArchiveOf(tensors, storage))));
    tensors.push_back({name, "HalfStorage", "0", kElements, 0, {2, kElements / 2}, {1, 2}});
  }
  EXPECT_TRUE(Refused(Parse(ArchiveOf(tensors, storage)),
                      "scattered tensors take more bytes than the file has"));
}

TEST(TorchFile, RefusesOtherArchives) {
  const auto members = TorchMembers(TinyTensors({}));
  const auto with = [&](const ZipMember& member) {
    auto all = members;
    all.push_back(member);
    return Parse(ZipBytes(all));
  };
  EXPECT_TRUE(Succeeded(with({"archive/byteorder", "little"})));
  EXPECT_TRUE(FailedWith(with({"archive/byteorder", "big"}), ErrorKind::kForeign, "big-endian"));
  EXPECT_TRUE(Refused(with({"other/data.pkl", ""}), "an archive that torch.save did not write"));
  EXPECT_TRUE(Refused(Parse(ZipBytes({{"data.pkl", ""}, {"a/b/data.pkl", ""}})),
                      "an archive that torch.save did not write"));
  EXPECT_TRUE(FailedWith(Parse(ZipBytes({{"a/data.pkl", WholePickle("]")}})), ErrorKind::kForeign,
                         "f: holds no dict of tensors"));
  EXPECT_TRUE(Refused(Parse("neither"), "f: not what torch.save writes"));
  // The place of an opcode is that in the file: behind 30 bytes, the name and padding.
  EXPECT_TRUE(FailedWith(Parse(ZipBytes({{"a/data.pkl", WholePickle("i")}})), ErrorKind::kForeign,
                         "opcode 0x69, which no tensor needs, stands at byte 45"));
}

TEST(TorchFile, RefusesOtherStreams) {
  const std::string version = WholePickle(pickle::Number(1001));
  const std::string machine = WholePickle("}" + pickle::Text("little_endian") + "\x88s");
  const std::string dict = PickleOf({{"t", "HalfStorage", "0", 1, 0, {1}, {1}}}, true);
  const std::string keys = WholePickle("](" + pickle::Text("0") + "e");
  const std::string storage("\1\0\0\0\0\0\0\0ab", 10);
  const std::string stream = StreamBytes(version, machine, dict, keys, storage);
  const auto sound = Parse(stream);
  ASSERT_TRUE(Succeeded(sound));
  EXPECT_EQ(TextOf(*sound, "t"), "ab");
  EXPECT_TRUE(Refused(Parse(StreamBytes(WholePickle("K\1"), machine, dict, keys, storage)),
                      "a stream of an unknown version"));
  EXPECT_TRUE(Refused(Parse(StreamBytes(version, WholePickle("i"), dict, keys, storage)),
                      "stands at byte " + std::to_string(15 + version.size() + 2)));
  for (const char* other : {"}", "N", "]"}) {
    EXPECT_TRUE(Refused(Parse(StreamBytes(version, WholePickle(other), dict, keys, storage)),
                        "big-endian"));
  }
  const std::string big = WholePickle("}" + pickle::Text("little_endian") + "\x89s");
  EXPECT_TRUE(Refused(Parse(StreamBytes(version, big, dict, keys, storage)), "big-endian"));
  EXPECT_TRUE(Refused(Parse(StreamBytes(version, machine, dict, WholePickle("}"), storage)),
                      "the list of storages is none"));
  for (const std::string& key : {pickle::Text("1"), pickle::Number(0)}) {
    EXPECT_TRUE(
        Refused(Parse(StreamBytes(version, machine, dict, WholePickle("]" + key + "a"), storage)),
                "a storage belongs to no tensor"));
  }
  const std::string twice = WholePickle("](" + pickle::Text("0") + pickle::Text("0") + "e");
  EXPECT_TRUE(Refused(Parse(StreamBytes(version, machine, dict, twice, storage + storage)),
                      "a storage stands twice"));
  EXPECT_TRUE(
      Refused(Parse(StreamBytes(version, machine, dict, keys, std::string(8, '\xFF') + storage)),
              "a storage is cut short"));
  EXPECT_TRUE(Refused(Parse(StreamBytes(version, machine, dict, WholePickle("]"), "")),
                      "its storage is missing"));
}

TEST(TorchFile, EveryPrefixIsRefused) {
  TinyModelOptions options;
  options.layers = 1;
  options.hidden = 4;
  options.ffn = 4;
  const auto tensors = TinyTensors(options);
  for (const std::string& file : {ZipBytes(TorchMembers(tensors)), TorchStream(tensors)}) {
    ASSERT_TRUE(Succeeded(Parse(file)));
    for (size_t length = 0; length < file.size(); length += 7) {
      EXPECT_TRUE(Refused(Parse(file.substr(0, length)))) << length;
    }
    EXPECT_TRUE(Refused(Parse(file.substr(0, file.size() - 1))));
  }
}

}  // namespace
}  // namespace sti
