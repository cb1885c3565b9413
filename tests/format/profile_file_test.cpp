#include "format/profile_file.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/utf8.h"
#include "format/small_file_test.h"
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
  profile.streams = {{1, 81.5}, {2, 163}, {8, 640}};
  profile.read_streams = 8;
  profile.start_us = 8123.5;
  profile.noise = 0.0175;
  profile.thermal = {1800000, 2400000, 41.5, 52};
  profile.io_series = {{1000, 1500.5}, {2000, 2900}};
  profile.compute_series = {{1000, 1250}};
  profile.batches = {{4, {{64, 3, 3000.25, 3100, 2400000}}, {{64, 40, 200.5, 60, 41, 201, 60}}},
                     {16, {{64, 3, 9000, 9000, 0}}, {}}};
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
    EXPECT_EQ(from_json->read_streams, 8u);
    EXPECT_EQ(from_binary->streams, (std::vector<StreamRate>{{1, 81.5}, {2, 163}, {8, 640}}));
    EXPECT_EQ(from_binary->start_us, 8123.5);
    EXPECT_EQ(from_binary->noise, 0.0175);
    ASSERT_EQ(from_binary->io_series.size(), 2u);
    EXPECT_EQ(from_binary->io_series[0].p99_us, 1500.5);
    ASSERT_EQ(from_json->compute_series.size(), 1u);
    EXPECT_EQ(from_json->compute_series[0].median_us, 1000);
    EXPECT_EQ(from_json->thermal.freq_min, 1800000u);
    EXPECT_EQ(from_binary->thermal.celsius_after, 52);
    EXPECT_EQ(from_binary->batches, example.batches);
    EXPECT_EQ(from_json->batches, example.batches);
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
  const std::string json = R"({"io": [{"bits": 2, "load_us": 1100}],
    "compute": [{"length": 128, "width": 3, "layer_us": 39000}],
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

TEST(ProfileFile, BatchesAreChecked) {
  const std::string json = ProfileToJson(ExampleProfile());
  const auto refused = [&](const char* from, const char* to, const char* words) {
    test::ExpectRefused(json, from, to, words, test::StatusOf<ParseProfile>);
  };
  refused("\"batch\": 4", "\"batch\": 1", "batches[0].batch is not from 2 to 256");
  refused("\"batch\": 4", "\"batch\": 300", "batches[0].batch is not from 2 to 256");
  refused("\"batch\": 4", "\"batch\": 16", "batches[1].batch does not ascend");
  refused("3000.25", "-1", "batches[0].compute[0].layer_us is negative");
  DeviceProfile profile = ExampleProfile();
  profile.batches[1].compute.push_back({64, 12, 100, 100, 0});
  EXPECT_TRUE(FailedWith(ParseProfile(EncodeProfile(profile), "a.profile"), ErrorKind::kDamaged,
                         "batches[1].compute[1].layer_us is less than that of less work"));
  profile.batches[1].compute.clear();
  EXPECT_TRUE(FailedWith(ParseProfile(EncodeProfile(profile), "a.profile"), ErrorKind::kDamaged,
                         "batches[1].compute is missing"));
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
  test::ExpectRefused(json, "\"bytes\":4096", "\"bytes\":4096, \"bits\": 2",
                      "io[0].bytes or bits must", test::StatusOf<ParseProfile>);
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

// Tools print them: nothing in them may move a cursor, break a line or fill a screen.
TEST(ProfileFile, TextsArePrintableAscii) {
  const struct {
    std::string& (*of)(DeviceProfile&);
    size_t most;
    const char* words;
  } texts[] = {
      {[](DeviceProfile& p) -> std::string& { return p.cpus; }, 32768, "cpus is not at most "},
      {[](DeviceProfile& p) -> std::string& { return p.kernel.name; }, 64, "kernel is not"},
      {[](DeviceProfile& p) -> std::string& { return p.read_path; }, 64, "read_path is not"},
      {[](DeviceProfile& p) -> std::string& { return p.machine; }, 1024, "machine is not"}};
  for (const auto& [of, most, words] : texts) {
    DeviceProfile example = ExampleProfile();
    of(example) = std::string(most, '~');
    EXPECT_TRUE(Succeeded(test::StatusOf<ParseProfile>(EncodeProfile(example)))) << words;
    for (const std::string& bad : {std::string("a\x1b[31m"), std::string("a\nb"),
                                   std::string("\xC3\xA9"), std::string(most + 1, 'a')}) {
      of(example) = bad;
      EXPECT_TRUE(FailedWith(test::StatusOf<ParseProfile>(EncodeProfile(example)),
                             ErrorKind::kDamaged, words));
      EXPECT_TRUE(FailedWith(test::StatusOf<ParseProfile>(AsBytes(ProfileToJson(example))),
                             ErrorKind::kDamaged, words));
    }
  }
}

constexpr double kInfiniteUs = std::numeric_limits<double>::infinity();

/// A rule that a profile breaks, and how.
const struct BrokenRule {
  const char* words;
  void (*spoil)(DeviceProfile&);
} kBrokenRules[] = {
    {"io is missing", [](DeviceProfile& p) { p.io.clear(); }},
    {"compute is missing", [](DeviceProfile& p) { p.compute.clear(); }},
    {"one of io_series and compute_series", [](DeviceProfile& p) { p.io_series.clear(); }},
    {"one of io_series and compute_series", [](DeviceProfile& p) { p.compute_series.clear(); }},
    {"io[0].bytes or bits", [](DeviceProfile& p) { p.io[0].bytes = 0; }},
    {"io[0].bytes or bits", [](DeviceProfile& p) { p.io[0].bits = 2; }},
    {"io[0].bits is not",
     [](DeviceProfile& p) {
       p.io[0] = {0, 7, 1, 1};
     }},
    {"io[1].bytes is above", [](DeviceProfile& p) { p.io[1].bytes = (uint64_t{1} << 40) + 1; }},
    {"io[0].load_us is negative", [](DeviceProfile& p) { p.io[0].load_us = -1; }},
    {"io[0].load_us is above", [](DeviceProfile& p) { p.io[0].load_us = 1e308; }},
    {"io[0].p99_us is below", [](DeviceProfile& p) { p.io[0].p99_us = p.io[0].load_us / 2; }},
    {"io[0].load_us is not", [](DeviceProfile& p) { p.io[0].load_us = kInfiniteUs; }},
    {"is less than that of less work", [](DeviceProfile& p) { p.io[1].load_us = 0; }},
    {"compute[0].length is 0", [](DeviceProfile& p) { p.compute[0].length = 0; }},
    {"compute[0].length is above", [](DeviceProfile& p) { p.compute[0].length = 1048577; }},
    {"compute[0].width is 0", [](DeviceProfile& p) { p.compute[0].width = 0; }},
    {"compute[0].width is above", [](DeviceProfile& p) { p.compute[0].width = 257; }},
    {"compute[0].layer_us is 0", [](DeviceProfile& p) { p.compute[0].layer_us = 0; }},
    {"compute[0].layer_us is negative", [](DeviceProfile& p) { p.compute[0].layer_us = -5; }},
    {"compute[1].p99_us is not", [](DeviceProfile& p) { p.compute[1].p99_us = kInfiniteUs; }},
    {"compute[0].last_us is negative", [](DeviceProfile& p) { p.compute[0].last_us = -5; }},
    {"compute[0].last_us is above", [](DeviceProfile& p) { p.compute[0].last_us = 1.1e9; }},
    {"decode[1].bits is not", [](DeviceProfile& p) { p.decode[1].bits = 0; }},
    {"decode[1].bits is not", [](DeviceProfile& p) { p.decode[1].bits = 33; }},
    {"decode[1].extra_us is not", [](DeviceProfile& p) { p.decode[1].extra_us = kInfiniteUs; }},
    {"decode[0].extra_us takes off all", [](DeviceProfile& p) { p.decode[0].extra_us = -1e9; }},
    {"decode[0].extra_us is above", [](DeviceProfile& p) { p.decode[0].extra_us = 1e10; }},
    {"fixed[0].length is 0", [](DeviceProfile& p) { p.fixed[0].length = 0; }},
    {"fixed[0].embed_us is negative", [](DeviceProfile& p) { p.fixed[0].embed_us = -1; }},
    {"fixed[0].embed_io_p99_us is not",
     [](DeviceProfile& p) { p.fixed[0].embed_io_p99_us = kInfiniteUs; }},
    {"fixed[0].head_p99_us is below", [](DeviceProfile& p) { p.fixed[0].head_p99_us = 0.01; }},
    {"io_series[0].median_us is 0", [](DeviceProfile& p) { p.io_series[0].median_us = 0; }},
    {"io_series[0].median_us is negative", [](DeviceProfile& p) { p.io_series[0].median_us = -1; }},
    {"io_series[1].median_us does not", [](DeviceProfile& p) { p.io_series[1].median_us = 1000; }},
    {"io_series[1].p99_us is below", [](DeviceProfile& p) { p.io_series[1].p99_us = 1999; }},
    {"io_series[1].p99_us is more of", [](DeviceProfile& p) { p.io_series[1].p99_us = 4000; }},
    {"io_series[1].p99_us is not", [](DeviceProfile& p) { p.io_series[1].p99_us = kInfiniteUs; }},
    {"compute_series[0].p99_us is 0", [](DeviceProfile& p) { p.compute_series[0].p99_us = 0; }},
    {"threads is above 256", [](DeviceProfile& p) { p.threads = 257; }},
    {"process_bytes is above", [](DeviceProfile& p) { p.process_bytes = UINT64_MAX; }},
    {"read_depth is above", [](DeviceProfile& p) { p.read_depth = 257; }},
    {"read_streams is above", [](DeviceProfile& p) { p.read_streams = 17; }},
    {"streams[0].streams is not", [](DeviceProfile& p) { p.streams[0].streams = 0; }},
    {"streams[2].streams is not", [](DeviceProfile& p) { p.streams[2].streams = 17; }},
    {"streams[1].streams does not", [](DeviceProfile& p) { p.streams[1].streams = 1; }},
    {"streams[1].bytes_per_us is not", [](DeviceProfile& p) { p.streams[1].bytes_per_us = 0; }},
    {"streams[2].bytes_per_us is not",
     [](DeviceProfile& p) { p.streams[2].bytes_per_us = kInfiniteUs; }},
    {"streams",
     [](DeviceProfile& p) {
       p.streams.resize(17, {16, 700});
     }},
    {"start_us is not", [](DeviceProfile& p) { p.start_us = -1; }},
    {"start_us is not", [](DeviceProfile& p) { p.start_us = kInfiniteUs; }},
    {"noise is not", [](DeviceProfile& p) { p.noise = -0.1; }},
    {"noise is not", [](DeviceProfile& p) { p.noise = 1e308; }},
    {"thermal holds", [](DeviceProfile& p) { p.thermal.celsius_before = -kInfiniteUs; }},
    {"thermal holds", [](DeviceProfile& p) { p.thermal.celsius_after = 1e7; }},
    {"io_series has more than",
     [](DeviceProfile& p) {
       p.io_series.resize(65537, {1, 1});
     }},
    {"fixed has more than", [](DeviceProfile& p) { p.fixed.resize(65537, p.fixed[0]); }},
};

// Whatever is called whole can be planned with: each rule of spec/profile.md, in both spellings.
TEST(ProfileFile, WhatBreaksARuleIsRefused) {
  ASSERT_TRUE(Succeeded(test::StatusOf<ParseProfile>(EncodeProfile(ExampleProfile()))));
  for (const auto& [words, spoil] : kBrokenRules) {
    DeviceProfile example = ExampleProfile();
    spoil(example);
    EXPECT_TRUE(FailedWith(test::StatusOf<ParseProfile>(EncodeProfile(example)),
                           ErrorKind::kDamaged, words));
    const std::string json = ProfileToJson(example);
    if (json.find("null") != std::string::npos) continue;  // JSON has no infinity
    EXPECT_TRUE(
        FailedWith(test::StatusOf<ParseProfile>(AsBytes(json)), ErrorKind::kDamaged, words));
  }
}

}  // namespace
}  // namespace sti
