#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "import/weight_file.h"
#include "support/safetensors_writer.h"
#include "support/text.h"

namespace sti {
namespace {

class Safetensors : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "safetensors_test." + std::to_string(getpid());
    std::filesystem::create_directories(dir_);
    path_ = dir_ + "/t.safetensors";
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  Result<WeightFile> OpenBytes(const std::string& bytes) {
    EXPECT_TRUE(WriteBytes(path_, bytes).ok());
    return WeightFile::OpenSafetensors(path_);
  }

  /// Opens a file with this header and `data` zero bytes; returns the message of the failure.
  std::string FailureOf(const std::string& header, size_t data = 16) {
    return FailureOfBytes(SafetensorsBytes(header, std::string(data, '\0')));
  }
  std::string FailureOfBytes(const std::string& bytes) {
    const auto file = OpenBytes(bytes);
    EXPECT_FALSE(file.ok());
    if (file.ok()) return "";
    EXPECT_EQ(file.error().kind, ErrorKind::kDamaged);
    EXPECT_NE(file.error().Message().find(path_), std::string::npos);
    EXPECT_EQ(file.error().Message().find('\n'), std::string::npos);
    return file.error().Message();
  }

  std::string dir_, path_;
};

TEST_F(Safetensors, FindsTensors) {
  const auto file = OpenBytes(SafetensorsBytes({{"a", "F16", {2, 1}, {0x00, 0x3C, 0x00, 0xC0}},
                                                {"b", "F32", {}, {0, 0, 0x80, 0x3F}},
                                                {"c", "BF16", {0, 7}, {}}}));
  ASSERT_TRUE(file.ok()) << file.error().Message();
  const auto a = file->Find("a");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->type, DataType::kF16);
  EXPECT_EQ(a->shape, (std::vector<uint64_t>{2, 1}));
  EXPECT_EQ(a->count(), 2u);
  EXPECT_EQ(LoadElement(*a, 0), 1.0f);
  EXPECT_EQ(LoadElement(*a, 1), -2.0f);
  const auto b = file->Find("b");
  ASSERT_TRUE(b);
  EXPECT_EQ(b->count(), 1u);
  EXPECT_EQ(LoadElement(*b, 0), 1.0f);
  EXPECT_EQ(file->Find("c")->count(), 0u);
  EXPECT_FALSE(file->Find("d"));
  EXPECT_EQ(file->Names(), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(Safetensors, ViewsSurviveAMove) {
  auto opened = OpenBytes(SafetensorsBytes({{"a", "F32", {1}, {0, 0, 0x80, 0x3F}}}));
  ASSERT_TRUE(opened.ok());
  const auto view = opened->Find("a");
  const WeightFile moved = std::move(opened).value();
  EXPECT_EQ(LoadElement(*view, 0), 1.0f);
  EXPECT_TRUE(moved.Find("a"));
}

TEST_F(Safetensors, UnknownTypesOnlyMatterWhenUsed) {
  const auto file = OpenBytes(SafetensorsBytes(
      R"({"__metadata__":{"format":"pt"},"ids":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})",
      std::string(8, '\0')));
  ASSERT_TRUE(file.ok()) << file.error().Message();
  EXPECT_FALSE(file->Find("ids"));
  EXPECT_EQ(file->TypeName("ids"), "I64");
  EXPECT_FALSE(file->TypeName("__metadata__"));
}

TEST_F(Safetensors, RefusesBrokenFiles) {
  FailureOfBytes("");
  FailureOfBytes("1234567");
  FailureOfBytes(std::string(8, '\xFF'));
  FailureOfBytes(std::string("\0\0\0\0\0\0\0\x10{}", 10));  // the length, big endian
  FailureOfBytes(SafetensorsBytes("{}", "").substr(0, 9));
  EXPECT_TRUE(Contains(FailureOf("{"), "not well-formed JSON"));
  EXPECT_TRUE(Contains(FailureOf("[]"), "not a JSON object"));
  EXPECT_TRUE(
      Contains(FailureOf("{\"a\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [0, 4]}, "
                         "\"a\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [4, 8]}}"),
               "JSON with a name that stands twice"));
  FailureOf("");
  FailureOf("\xFF\xFE");
}

TEST_F(Safetensors, RefusesTruncatedData) {
  const std::string whole = SafetensorsBytes({{"a", "F32", {4}, std::vector<uint8_t>(16)}});
  EXPECT_TRUE(Contains(FailureOfBytes(whole.substr(0, whole.size() - 1)), "outside"));
}

TEST_F(Safetensors, RefusesBrokenEntries) {
  FailureOf(R"({"a":1})");
  FailureOf(R"({"a":{"shape":[4],"data_offsets":[0,16]}})");
  FailureOf(R"({"a":{"dtype":3,"shape":[4],"data_offsets":[0,16]}})");
  FailureOf(R"({"a":{"dtype":"F32","shape":4,"data_offsets":[0,16]}})");
  FailureOf(R"({"a":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}})");
  FailureOf(R"({"a":{"dtype":"F32","shape":[4.0],"data_offsets":[0,16]}})");
  FailureOf(R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,4],"data_offsets":[0,16]}})");
  FailureOf(R"({"a":{"dtype":"F32","shape":[4]}})");
  FailureOf(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0]}})");
  FailureOf(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[16,0]}})");
  FailureOf(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[4,20]}})");
  FailureOf(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,16]}})");
  FailureOf(R"({"a":{"dtype":"I64","shape":[1],"data_offsets":[0,18446744073709551615]}})");
  EXPECT_TRUE(Contains(
      FailureOf(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})"),
      "overflows"));
}

TEST_F(Safetensors, RefusesOverlap) {
  EXPECT_TRUE(Contains(FailureOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                 R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})"),
                       "overlap"));
  FailureOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
            R"("b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})");
}

TEST_F(Safetensors, AMissingFileIsSaidToBeMissing) {
  const auto file = WeightFile::OpenSafetensors(dir_ + "/none");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().kind, ErrorKind::kNoSuchFile);
  EXPECT_EQ(WeightFile::OpenSafetensors(dir_).error().kind, ErrorKind::kDamaged);
}

// 1.0, the largest finite number and a subnormal pass; infinities and NaN do not.
TEST_F(Safetensors, CheckFiniteNamesTensorAndIndex) {
  const std::vector<uint8_t> sound = {0x00, 0x3C, 0xFF, 0x7B, 0x01, 0x80};
  std::vector<uint8_t> infinite = sound, nan = sound;
  infinite[5] = 0xFC;
  infinite[4] = 0x00;
  nan[3] = 0x7E;
  const auto status = [](const std::vector<uint8_t>& bytes) {
    return CheckFinite({DataType::kF16, {3}, bytes}, "w");
  };
  EXPECT_TRUE(status(sound).ok());
  EXPECT_TRUE(Contains(status(infinite).error().Message(), "w: infinity at index 2"));
  EXPECT_TRUE(Contains(status(nan).error().Message(), "w: NaN at index 1"));
  const std::vector<uint8_t> f32 = {0, 0, 0x80, 0x7F}, bf16 = {0xC0, 0xFF};
  EXPECT_FALSE(CheckFinite({DataType::kF32, {1}, f32}, "w").ok());
  EXPECT_FALSE(CheckFinite({DataType::kBF16, {1}, bf16}, "w").ok());
}

}  // namespace
}  // namespace sti
