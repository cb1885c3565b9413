// Profile files as they were written once: both spellings must load for ever, and mean the same.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "format/frozen_file.h"
#include "format/profile_file.h"
#include "format/small_file_test.h"

namespace sti {
namespace {

using Json = nlohmann::json;
using test::ExpectHolds;
using test::Frozen;

class FrozenProfile : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Versions, FrozenProfile,
                         ::testing::Values("v1", "v1.1", "v1.2", "v1.3", "v1.4", "v1.5", "v1.11"));

TEST_P(FrozenProfile, LoadsFromBothSpellings) {
  const std::string name = std::string(GetParam()) + "/tiny.profile";
  const std::string binary = Frozen(name);
  const std::string json = Frozen(name + ".json");
  const Json fields = Json::parse(json);
  for (const std::string& spelling : {binary, json}) {
    const auto value = ParseProfile(AsBytes(spelling), name);
    ASSERT_TRUE(value.ok()) << value.error().Message();
    ExpectHolds(Json::parse(ProfileToJson(*value)), fields, name);
    const std::vector<uint8_t> encoded = EncodeProfile(*value);
    EXPECT_EQ(std::string(encoded.begin(), encoded.end()), binary);
  }
  test::ExpectDamageIsFound({binary.begin(), binary.end()}, [](auto bytes) -> Status {
    const auto value = ParseProfile(bytes, "a.file");
    return value.ok() ? Status() : Status(value.error());
  });
}

TEST(FrozenProfile11, HoldsWhat11Brought) {
  const auto profile = ParseProfile(AsBytes(Frozen("v1.1/tiny.profile")), "tiny.profile");
  ASSERT_TRUE(profile.ok()) << profile.error().Message();
  EXPECT_EQ(profile->read_bytes, 131072u);
  EXPECT_EQ(profile->read_depth, 4u);
  EXPECT_EQ(profile->start_us, 4812.5);
  EXPECT_EQ(profile->noise, 0.015625);
  EXPECT_EQ(profile->thermal.freq_min, 1800000u);
  EXPECT_EQ(profile->thermal.freq_max, 2400000u);
  EXPECT_EQ(profile->thermal.celsius_before, 41.5);
  EXPECT_EQ(profile->thermal.celsius_after, 47.25);
  ASSERT_EQ(profile->fixed.size(), 2u);
  EXPECT_EQ(profile->fixed[0].embed_p99_us, 2.5);
  EXPECT_EQ(profile->fixed[0].embed_io_p99_us, 81.125);
  EXPECT_EQ(profile->fixed[0].head_p99_us, 0.375);
  EXPECT_EQ(profile->fixed[1].head_p99_us, profile->fixed[1].head_us);
}

TEST(FrozenProfile12, HoldsWhat12Brought) {
  const auto profile = ParseProfile(AsBytes(Frozen("v1.2/tiny.profile")), "tiny.profile");
  ASSERT_TRUE(profile.ok()) << profile.error().Message();
  ASSERT_EQ(profile->compute.size(), 4u);
  EXPECT_EQ(profile->compute[0].last_us, 1.25);
  EXPECT_EQ(profile->compute[0].last_p99_us, 1.5);
  EXPECT_EQ(profile->compute[3].last_us, 3.0625);
  EXPECT_EQ(profile->compute[3].last_p99_us, 0);
}

TEST(FrozenProfile13, HoldsWhat13Brought) {
  const auto profile = ParseProfile(AsBytes(Frozen("v1.3/tiny.profile")), "tiny.profile");
  ASSERT_TRUE(profile.ok()) << profile.error().Message();
  ASSERT_EQ(profile->io_series.size(), 2u);
  EXPECT_EQ(profile->io_series[0].median_us, 1000);
  EXPECT_EQ(profile->io_series[1].p99_us, 2150.5);
  ASSERT_EQ(profile->compute_series.size(), 1u);
  EXPECT_EQ(profile->compute_series[0].p99_us, 1312.25);
  const auto older = ParseProfile(AsBytes(Frozen("v1.2/tiny.profile")), "tiny.profile");
  ASSERT_TRUE(older.ok()) << older.error().Message();
  EXPECT_TRUE(older->io_series.empty());
  EXPECT_TRUE(older->compute_series.empty());
}

TEST(FrozenProfile14, HoldsWhat14Brought) {
  const auto profile = ParseProfile(AsBytes(Frozen("v1.4/tiny.profile")), "tiny.profile");
  ASSERT_TRUE(profile.ok()) << profile.error().Message();
  ASSERT_EQ(profile->decode.size(), 2u);
  EXPECT_EQ(profile->decode[0].bits, 2u);
  EXPECT_EQ(profile->decode[0].extra_us, -0.125);
  EXPECT_EQ(profile->decode[1].bits, 32u);
  EXPECT_EQ(profile->decode[1].extra_us, 0.5);
  EXPECT_EQ(profile->decode[1].freq, 2400000u);
  const auto older = ParseProfile(AsBytes(Frozen("v1.3/tiny.profile")), "tiny.profile");
  ASSERT_TRUE(older.ok()) << older.error().Message();
  EXPECT_TRUE(older->decode.empty());
}

TEST(FrozenProfile111, HoldsRatesOfOpenFiles) {
  const auto profile = ParseProfile(AsBytes(Frozen("v1.11/tiny.profile")), "tiny.profile");
  ASSERT_TRUE(profile.ok()) << profile.error().Message();
  EXPECT_EQ(profile->read_streams, 3U);
  EXPECT_EQ(profile->streams, (std::vector<StreamRate>{{1, 83.5}, {2, 166.25}, {8, 250}}));
  const auto older = ParseProfile(AsBytes(Frozen("v1.5/tiny.profile")), "tiny.profile");
  ASSERT_TRUE(older.ok()) << older.error().Message();
  EXPECT_EQ(older->read_streams, 0U);
  EXPECT_TRUE(older->streams.empty());
}

TEST(FrozenProfile1, SaysNothingOfWhatCameLater) {
  const auto profile = ParseProfile(AsBytes(Frozen("v1/tiny.profile")), "tiny.profile");
  ASSERT_TRUE(profile.ok()) << profile.error().Message();
  EXPECT_EQ(profile->read_bytes, 0u);
  EXPECT_EQ(profile->read_depth, 0u);
  EXPECT_EQ(profile->noise, 0);
  EXPECT_EQ(profile->thermal.freq_max, 0u);
  EXPECT_EQ(profile->fixed[0].head_p99_us, profile->fixed[0].head_us);
  EXPECT_EQ(profile->compute[0].last_us, 0);
}

}  // namespace
}  // namespace sti
