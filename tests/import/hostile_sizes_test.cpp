// Files from anywhere that claim, nest or repeat beyond reason: refused, and memory stays small.
#include <gtest/gtest.h>

#include "import/model_config.h"
#include "import/tokenizer_files.h"
#include "import/weight_file.h"
#include "network/families.h"
#include "support/expect.h"
#include "support/memory_meter.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace sti {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::string Nested(size_t depth) {
  return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
}

Result<ModelInfo> ReadConfig(const std::string& path) { return ReadModelConfig(path); }

class Hostile : public ::testing::Test {
 protected:
  /// Writes `bytes`, reads them with `read`; refused with these words in little memory.
  template <typename Read>
  void ExpectRefused(const std::string& bytes, const std::string& words, const Read& read,
                     uint64_t limit) {
    ASSERT_TRUE(WriteBytes(path_, bytes).ok());
    const MemoryMeter meter;
    const auto result = read(path_);
    EXPECT_TRUE(FailedWith(result, ErrorKind::kDamaged, path_ + ": "));
    EXPECT_TRUE(FailedWith(result, ErrorKind::kDamaged, words));
    EXPECT_LT(meter.peak_bytes(), limit) << words;
  }

  TempFolder folder_;
  std::string path_ = folder_.File("file");
};

TEST_F(Hostile, SafetensorsHeaderLengths) {
  for (const uint64_t length : {uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 7, uint64_t{1} << 40,
                                uint64_t{100'000'001}, uint64_t{25}}) {
    std::string bytes(32, ' ');
    for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(length >> (8 * i));
    ExpectRefused(bytes, "the header would take", WeightFile::OpenSafetensors, 4096);
  }
}

TEST_F(Hostile, SafetensorsEntries) {
  const auto header = [](const std::string& shape, const std::string& offsets) {
    return SafetensorsBytes(
        "{\"t\":{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}",
        std::string(16, '\0'));
  };
  const auto refuse = [&](const std::string& bytes, const std::string& words) {
    ExpectRefused(bytes, words, WeightFile::OpenSafetensors, 65536);
  };
  refuse(header("[4]", "[9223372036854775808,9223372036854775824]"), "outside");
  refuse(header("[4]", "[0,18446744073709551615]"), "outside");
  refuse(header("[4]", "[16,0]"), "outside");
  refuse(header("[9223372036854775808,2]", "[0,16]"), "overflows");
  refuse(header("[4294967296,4294967296]", "[0,16]"), "overflows");
  refuse(header("[18446744073709551616]", "[0,16]"), "no usable shape");
  refuse(header("[1e999]", "[0,16]"), "not well-formed JSON");
  refuse(header("[1,1,1,1,1,1,1,1,4]", "[0,16]"), "no usable shape");
}

TEST_F(Hostile, JsonNestedTooDeep) {
  for (const size_t depth : {size_t{64}, size_t{100'000}, size_t{10'000'000}}) {
    const std::string json = Nested(depth);
    const uint64_t limit = 2 * json.size() + kMiB;
    ExpectRefused(json, "nested too deep", ReadConfig, limit);
    ExpectRefused(SafetensorsBytes(json, ""), "nested too deep", WeightFile::OpenSafetensors, kMiB);
    ASSERT_TRUE(WriteBytes(folder_.File("tokenizer.json"), json).ok());
    EXPECT_TRUE(FailedWith(ReadTokenizer(folder_.path(), {*FindFamily("bert"), 100, 0}),
                           ErrorKind::kDamaged, "tokenizer.json: JSON nested too deep"));
  }
}

TEST_F(Hostile, ConfigNumbers) {
  const std::string config = TinyConfig({});
  const std::string key = "\"num_hidden_layers\":";
  const size_t begin = config.find(key);
  ASSERT_NE(begin, std::string::npos);
  const size_t end = config.find_first_of(",}", begin);
  for (const char* number : {"1000000", "1e999", "9223372036854775808", "1e3", "-1"}) {
    std::string edited = config;
    edited.replace(begin + key.size(), end - begin - key.size(), number);
    ExpectRefused(edited, "", ReadConfig, 65536);
  }
}

// A vocabulary of nothing but line ends: 64 Mi of them, of which the model has a row for 100.
TEST_F(Hostile, VocabularyOfLineEnds) {
  const uint64_t size = 64 * kMiB;
  ASSERT_TRUE(WriteBytes(folder_.File("vocab.txt"), std::string(size, '\n')).ok());
  const MemoryMeter meter;
  EXPECT_TRUE(FailedWith(ReadTokenizer(folder_.path(), {*FindFamily("bert"), 100, 0}),
                         ErrorKind::kDamaged, "no token [UNK]"));
  EXPECT_LT(meter.peak_bytes(), 3 * size);
  ASSERT_TRUE(WriteBytes(folder_.File("vocab.txt"), std::string(size + 1, '\n')).ok());
  EXPECT_TRUE(FailedWith(ReadTokenizer(folder_.path(), {*FindFamily("bert"), 100, 0}),
                         ErrorKind::kDamaged, "more than the 67108864 allowed"));
}

TEST_F(Hostile, TokenizerIdsBeyondTheList) {
  for (const char* id : {"18446744073709551615", "4294967296", "100", "-1", "1e0", "1e999"}) {
    const std::string json =
        "{\"normalizer\":{\"type\":\"BertNormalizer\"},\"model\":{\"type\":\"WordPiece\","
        "\"vocab\":{\"a\":0,\"b\":" +
        std::string(id) + "}}}";
    ASSERT_TRUE(WriteBytes(folder_.File("tokenizer.json"), json).ok());
    const MemoryMeter meter;
    EXPECT_TRUE(FailedWith(ReadTokenizer(folder_.path(), {*FindFamily("bert"), 100, 0}),
                           ErrorKind::kDamaged, "tokenizer.json: "))
        << id;
    EXPECT_LT(meter.peak_bytes(), kMiB);
  }
}

}  // namespace
}  // namespace sti
