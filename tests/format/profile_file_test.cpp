#include "format/profile_file.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "format/framed_file.h"
#include "format/small_file_test.h"
#include "profile_generated.h"
#include "support/expect.h"

namespace sti {
namespace {

DeviceProfile ExampleProfile() {
  DeviceProfile profile;
  profile.shape.bytes[3] = 9;
  profile.io = {{4096, 0, 51.2, 60.1}, {73728, 0, 900.0 / 7, 1000}};
  profile.compute = {{64, 3, 1234.5, 1300.25, 2400000}, {64, 12, 4000, 4100, 0}};
  profile.decode = {{2, -3.25, 2400000}, {32, 17.5, 0}};
  profile.fixed = {{64, 10, 120.75, 33, 11.5, 140.25, 34}};
  profile.threads = 2;
  profile.cpus = "0-1";
  profile.kernel.name = "avx512/fp32";
  profile.provenance = Provenance::kMeasured;
  profile.read_path = "uring";
  profile.machine = "a board ~";
  profile.process_bytes = 5u << 20;
  profile.read_bytes = 256u << 10;
  profile.read_depth = 4;
  profile.start_us = 8123.5;
  profile.noise = 0.0175;
  profile.thermal = {1800000, 2400000, 41.5, 52};
  profile.io_series = {{1000, 1500.5}, {2000, 2900}};
  profile.compute_series = {{1000, 1250}};
  return profile;
}

TEST(ProfileFile, BothSpellingsHoldTheSame) {
  DeviceProfile by_bits = ExampleProfile();
  by_bits.shape = {};
  by_bits.fixed.clear();
  by_bits.io = {{0, 2, 1100, 1100}, {0, 32, 13500, 14000}};
  for (const DeviceProfile& example : {ExampleProfile(), by_bits}) {
    const auto binary = EncodeProfile(example);
    const std::string json = ProfileToJson(example);
    auto from_binary = ParseProfile(binary, "a.file");
    auto from_json = ParseProfile(AsBytes(json), "a.file");
    ASSERT_TRUE(from_binary.ok()) << from_binary.error().Message();
    ASSERT_TRUE(from_json.ok()) << from_json.error().Message();
    // Every field goes into both spellings, so equal spellings are equal profiles.
    EXPECT_EQ(EncodeProfile(*from_binary), binary);
    EXPECT_EQ(EncodeProfile(*from_json), binary);
    EXPECT_EQ(ProfileToJson(*from_binary), json);
    EXPECT_EQ(from_json->io[1].load_us, example.io[1].load_us);
    EXPECT_EQ(from_binary->shape, example.shape);
    EXPECT_EQ(from_binary->machine, example.machine);
    EXPECT_EQ(from_json->compute[0].freq, 2400000u);
    ASSERT_EQ(from_binary->decode.size(), 2u);
    EXPECT_EQ(from_binary->decode[0].extra_us, -3.25);
    ASSERT_EQ(from_json->decode.size(), 2u);
    EXPECT_EQ(from_json->decode[1].bits, 32u);
    EXPECT_EQ(from_json->decode[0].freq, 2400000u);
    EXPECT_EQ(from_binary->read_bytes, 256u << 10);
    EXPECT_EQ(from_json->read_depth, 4u);
    EXPECT_EQ(from_binary->start_us, 8123.5);
    EXPECT_EQ(from_binary->noise, 0.0175);
    ASSERT_EQ(from_binary->io_series.size(), 2u);
    EXPECT_EQ(from_binary->io_series[0].p99_us, 1500.5);
    ASSERT_EQ(from_json->compute_series.size(), 1u);
    EXPECT_EQ(from_json->compute_series[0].median_us, 1000);
    EXPECT_EQ(from_json->thermal.freq_min, 1800000u);
    EXPECT_EQ(from_binary->thermal.celsius_after, 52);
  }
}

TEST(ProfileFile, AHandWrittenOneIsEnough) {
  const std::string text = R"({"io": [{"bits": 2, "load_us": 1100}, {"bytes": 2e6, "load_us": 9}],
    "compute": [{"length": 128, "width": 3, "layer_us": 39000}]})";
  auto profile = ParseProfile(AsBytes(text), "a.file");
  ASSERT_TRUE(profile.ok()) << profile.error().Message();
  EXPECT_EQ(profile->io[0].p99_us, 1100);
  EXPECT_EQ(profile->io[1].bytes, 2000000u);
  EXPECT_EQ(profile->compute[0].p99_us, 39000);
  EXPECT_TRUE(profile->shape.empty());
}

// Profiles of 1.0, and those that people write, have no p99 of the fixed part.
TEST(ProfileFile, AMissingP99IsTheMedian) {
  DeviceProfile example = ExampleProfile();
  example.fixed = {{64, 10, 120.75, 33}};
  const std::string json = R"({"io": [], "compute": [],
    "fixed": [{"length": 64, "embed_us": 10, "embed_io_us": 120.75, "head_us": 33}]})";
  for (const test::Bin& file :
       {test::Bin(EncodeProfile(example)), test::Bin(json.begin(), json.end())}) {
    const auto profile = ParseProfile(file, "a.file");
    ASSERT_TRUE(profile.ok()) << profile.error().Message();
    ASSERT_EQ(profile->fixed.size(), 1u);
    EXPECT_EQ(profile->fixed[0].embed_p99_us, 10);
    EXPECT_EQ(profile->fixed[0].embed_io_p99_us, 120.75);
    EXPECT_EQ(profile->fixed[0].head_p99_us, 33);
    EXPECT_EQ(ProfileToJson(*profile).find("\"head_p99_us\":0"), std::string::npos);
  }
}

TEST(ProfileFile, DamageIsFound) {
  test::ExpectDamageIsFound(EncodeProfile(ExampleProfile()), test::StatusOf<ParseProfile>);
}

TEST(ProfileFile, WrongFieldsAreNamed) {
  const std::string json = ProfileToJson(ExampleProfile());
  test::ExpectRefused(json, "\"io\"", "\"oi\"", "io is missing", test::StatusOf<ParseProfile>);
  test::ExpectRefused(json, "\"load_us\"", "\"load\"", "io[0]: load_us is missing",
                      test::StatusOf<ParseProfile>);
  test::ExpectRefused(json, "51.2", "true", "io[0]: load_us is not", test::StatusOf<ParseProfile>);
  test::ExpectRefused(json, "4096", "4096.5", "io[0]: bytes is not", test::StatusOf<ParseProfile>);
  test::ExpectRefused(json, "\"bytes\":4096", "\"bytes\":4096, \"bits\": 2", "io[0] must",
                      test::StatusOf<ParseProfile>);
  test::ExpectRefused(json, "\"width\":3", "\"width\": 4294967296", "compute[0]: width is not",
                      test::StatusOf<ParseProfile>);
  test::ExpectRefused(json, "\"uring\"", "3", "read_path is not text",
                      test::StatusOf<ParseProfile>);
  test::ExpectRefused(json, "\"freq_min\":1800000", "\"freq_min\":-1", "thermal: freq_min is not",
                      test::StatusOf<ParseProfile>);
  test::ExpectRefused(json, "\"read_bytes\": 262144", "\"read_bytes\": 262145",
                      "read_bytes is not a multiple of 4096", test::StatusOf<ParseProfile>);
  test::ExpectRefused(json, "\"read_bytes\": 262144", "\"read_bytes\": 134217728",
                      "read_bytes is not a multiple of 4096 up to", test::StatusOf<ParseProfile>);
  test::ExpectRefused(json, "\"read_depth\": 4", "\"read_depth\": 257", "read_depth is above 256",
                      test::StatusOf<ParseProfile>);
  test::ExpectRefused(json, "}", "", "not well-formed JSON", test::StatusOf<ParseProfile>);
}

// Tools print them: nothing in them may move a cursor or break a line.
TEST(ProfileFile, TextsArePrintableAscii) {
  const std::vector<std::string& (*)(DeviceProfile&)> texts = {
      [](DeviceProfile& p) -> std::string& { return p.cpus; },
      [](DeviceProfile& p) -> std::string& { return p.kernel.name; },
      [](DeviceProfile& p) -> std::string& { return p.read_path; },
      [](DeviceProfile& p) -> std::string& { return p.machine; }};
  for (const auto text : texts) {
    DeviceProfile example = ExampleProfile();
    text(example) = std::string(65536, '~');
    EXPECT_TRUE(test::StatusOf<ParseProfile>(EncodeProfile(example)).ok());
    for (const std::string& bad : {std::string("a\x1b[31m"), std::string("a\nb"),
                                   std::string("\xC3\xA9"), std::string(65537, 'a')}) {
      text(example) = bad;
      EXPECT_TRUE(FailedWith(test::StatusOf<ParseProfile>(EncodeProfile(example)),
                             ErrorKind::kDamaged, "printable ASCII"));
    }
  }
}

// An empty list is there; a table that has none is no profile, as in JSON.
TEST(ProfileFile, ABinaryOneNeedsReadsAndLayersToo) {
  for (const bool io : {false, true}) {
    flatbuffers::FlatBufferBuilder builder;
    using Tables = std::vector<flatbuffers::Offset<fb::IoSample>>;
    const auto list = builder.CreateVector(Tables());
    const auto other = builder.CreateVector(std::vector<flatbuffers::Offset<fb::ComputeSample>>());
    fb::ProfileBuilder profile(builder);
    if (io) profile.add_io(list);
    if (!io) profile.add_compute(other);
    builder.Finish(profile.Finish());
    const auto file = WrapFrame(kProfileMagic, {builder.GetBufferPointer(), builder.GetSize()});
    EXPECT_TRUE(FailedWith(test::StatusOf<ParseProfile>(file), ErrorKind::kDamaged,
                           io ? "compute is missing" : "io is missing"));
  }
}

TEST(ProfileFile, BitsThatNoShardHasAreRefused) {
  for (const uint32_t bits : {0u, 1u, 7u, 33u}) {
    DeviceProfile example = ExampleProfile();
    example.decode[1].bits = bits;
    for (const bool json : {false, true}) {
      const std::string text = ProfileToJson(example);
      const auto binary = EncodeProfile(example);
      const std::span<const uint8_t> bytes =
          json ? AsBytes(text) : std::span<const uint8_t>(binary);
      EXPECT_TRUE(FailedWith(test::StatusOf<ParseProfile>(bytes), ErrorKind::kDamaged,
                             "decode[1] has bits that no shard is stored at"));
    }
  }
}

TEST(ProfileFile, NonFiniteBinaryIsRefused) {
  const double infinite = std::numeric_limits<double>::infinity();
  struct Spoiler {
    const char* place;
    void (*spoil)(DeviceProfile&, double);
  };
  const std::vector<Spoiler> spoilers = {
      {"io[0] holds a time", [](DeviceProfile& p, double x) { p.io[0].load_us = x; }},
      {"compute[1] holds a time", [](DeviceProfile& p, double x) { p.compute[1].p99_us = x; }},
      {"decode[1] holds a time", [](DeviceProfile& p, double x) { p.decode[1].extra_us = x; }},
      {"fixed[0] holds a time", [](DeviceProfile& p, double x) { p.fixed[0].embed_io_p99_us = x; }},
      {"io_series[1] holds a time", [](DeviceProfile& p, double x) { p.io_series[1].p99_us = x; }},
      {"compute_series[0] holds a time",
       [](DeviceProfile& p, double x) { p.compute_series[0].median_us = x; }},
      {"", [](DeviceProfile& p, double x) { p.start_us = x; }},
      {"", [](DeviceProfile& p, double x) { p.noise = x; }},
      {"", [](DeviceProfile& p, double x) { p.thermal.celsius_before = x; }},
  };
  for (const auto& [place, spoil] : spoilers) {
    DeviceProfile example = ExampleProfile();
    ASSERT_TRUE(test::StatusOf<ParseProfile>(EncodeProfile(example)).ok());
    spoil(example, infinite);
    EXPECT_TRUE(FailedWith(test::StatusOf<ParseProfile>(EncodeProfile(example)),
                           ErrorKind::kDamaged, place));
  }
}

}  // namespace
}  // namespace sti
