#include "profile/profile_join.h"

#include <gtest/gtest.h>

#include "support/expect.h"

namespace sti {
namespace {

DeviceProfile Measured(uint64_t freq, double slower) {
  DeviceProfile profile;
  profile.shape.bytes[0] = 7;
  profile.io = {{4096, 0, 10 * slower, 15 * slower}, {8192, 0, 20 * slower, 25 * slower}};
  profile.compute = {{32, 2, 100 * slower, 110 * slower, freq, 40 * slower, 44 * slower},
                     {32, 4, 180 * slower, 190 * slower, freq, 70 * slower, 77 * slower}};
  profile.decode = {{2, -slower, freq}, {32, 3 * slower, freq}};
  profile.fixed = {{32, 5 * slower, 6 * slower, 7 * slower, 8 * slower, 9 * slower, 10 * slower}};
  profile.threads = 2;
  profile.cpus = "0-1";
  profile.kernel.name = "native-avx2-fp32";
  profile.read_path = "uring";
  profile.read_bytes = 65536;
  profile.read_depth = 8;
  profile.process_bytes = static_cast<uint64_t>(1e6 * slower);
  profile.start_us = 900 * slower;
  profile.noise = 0.01 * slower;
  profile.thermal = {freq, freq, 40, 40 + slower};
  return profile;
}

TEST(JoinProfiles, ClocksStandBesideEachOtherAndTheSlowestReadsCount) {
  const auto joined = JoinProfiles({{"b", Measured(900000, 2)}, {"a", Measured(1800000, 1)}});
  ASSERT_TRUE(Succeeded(joined));
  ASSERT_EQ(joined->compute.size(), 4U);
  EXPECT_EQ(joined->compute[0].freq, 900000U);
  EXPECT_EQ(joined->compute[0].layer_us, 200);
  EXPECT_EQ(joined->compute[1].freq, 1800000U);
  EXPECT_EQ(joined->compute[1].layer_us, 100) << "a slower clock lowers nothing";
  ASSERT_EQ(joined->decode.size(), 4U) << "of each clock their own";
  EXPECT_EQ(joined->decode[1].extra_us, 6);
  EXPECT_EQ(joined->decode[3].extra_us, 3);
  ASSERT_EQ(joined->io.size(), 2U);
  EXPECT_EQ(joined->io[0].load_us, 20);
  EXPECT_EQ(joined->io[1].p99_us, 50);
  ASSERT_EQ(joined->fixed.size(), 1U);
  EXPECT_EQ(joined->fixed[0].head_us, 14);
  EXPECT_EQ(joined->process_bytes, 2000000U);
  EXPECT_EQ(joined->start_us, 1800);
  EXPECT_EQ(joined->noise, 0.02);
  EXPECT_EQ(joined->thermal.freq_min, 900000U);
  EXPECT_EQ(joined->thermal.freq_max, 1800000U);
}

TEST(JoinProfiles, PassesOfSeveralInputsGoWithThoseOfAsMany) {
  NamedProfile a{"a", Measured(900000, 1)};
  NamedProfile b{"b", Measured(900000, 1)};
  a.profile.batches = {{4, {{32, 2, 300, 310, 900000}}, {{32, 5, 6, 7}}}};
  b.profile.batches = {
      {2, {{32, 2, 150, 160, 900000}}, {{32, 4, 5, 6}}},
      {4, {{32, 2, 280, 330, 900000}, {16, 2, 400, 410, 900000}}, {{16, 9, 9, 9}}}};
  const auto joined = JoinProfiles({a, b});
  ASSERT_TRUE(Succeeded(joined));
  ASSERT_EQ(joined->batches.size(), 2U);
  EXPECT_EQ(joined->batches[0], b.profile.batches[0]) << "one profile alone has it";
  const BatchSamples& four = joined->batches[1];
  EXPECT_EQ(four.batch, 4U);
  ASSERT_EQ(four.compute.size(), 2U);
  EXPECT_EQ(four.compute[0].length, 16U);
  EXPECT_EQ(four.compute[0].layer_us, 300) << "no more than the longer one";
  EXPECT_EQ(four.compute[1].layer_us, 300);
  EXPECT_EQ(four.compute[1].p99_us, 330);
  ASSERT_EQ(four.fixed.size(), 2U);
  EXPECT_EQ(four.fixed[0].length, 16U);
  for (uint32_t batch = 5; batch < 20; ++batch)
    b.profile.batches.push_back({batch, {{32, 2, 500, 510, 900000}}, {}});
  EXPECT_TRUE(
      FailedWith(JoinProfiles({a, b}), ErrorKind::kUsage, "passes of 17 numbers of inputs"));
}

TEST(JoinProfiles, OfSeriesTheLargestThatAllHave) {
  NamedProfile a{"a", Measured(900000, 1)};
  NamedProfile b{"b", Measured(1800000, 1)};
  a.profile.io_series = {{1000, 1500}, {2000, 2400}};
  a.profile.compute_series = {{1000, 1200}};
  b.profile.io_series = {{1000, 1400}, {2000, 2600}, {4000, 5000}};
  b.profile.compute_series = {{1000, 1300}, {2000, 2500}};
  for (const auto& pair : {std::vector{a, b}, std::vector{b, a}}) {
    const auto joined = JoinProfiles(pair);
    ASSERT_TRUE(Succeeded(joined));
    ASSERT_EQ(joined->io_series.size(), 2U);
    EXPECT_EQ(joined->io_series[0].p99_us, 1500);
    EXPECT_EQ(joined->io_series[1].p99_us, 2600);
    ASSERT_EQ(joined->compute_series.size(), 1U);
    EXPECT_EQ(joined->compute_series[0].p99_us, 1300);
  }
  b.profile.compute_series.clear();  // then those of reads say nothing either
  for (const auto& pair : {std::vector{a, b}, std::vector{b, a}}) {
    const auto joined = JoinProfiles(pair);
    ASSERT_TRUE(Succeeded(joined));
    EXPECT_TRUE(joined->io_series.empty());
    EXPECT_TRUE(joined->compute_series.empty());
  }
}

TEST(JoinProfiles, TheOrderDoesNotMatter) {
  const NamedProfile a{"a", Measured(900000, 1.5)};
  const NamedProfile b{"b", Measured(900000, 1)};
  NamedProfile c{"c", Measured(900000, 1.2)};
  c.profile.compute[0].length = c.profile.compute[1].length = c.profile.fixed[0].length = 16;
  c.profile.compute[1].p99_us = 5000;
  const auto one = JoinProfiles({a, b, c});
  const auto other = JoinProfiles({c, b, a});
  ASSERT_TRUE(Succeeded(one));
  ASSERT_TRUE(Succeeded(other));
  ASSERT_EQ(one->compute.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(one->compute[i].length, other->compute[i].length);
    EXPECT_EQ(one->compute[i].layer_us, other->compute[i].layer_us);
    EXPECT_EQ(one->compute[i].p99_us, other->compute[i].p99_us);
  }
  EXPECT_EQ(one->compute[1].p99_us, 285) << "no more than what is more work";
  ASSERT_EQ(one->fixed.size(), 2U);
  EXPECT_EQ(one->fixed[0].length, 16U);
  EXPECT_EQ(other->fixed[0].length, 16U);
}

TEST(JoinProfiles, WhatOneDoesNotSayTheOtherDoes) {
  DeviceProfile bare = Measured(900000, 1);
  bare.read_bytes = 0;
  bare.machine = "";
  bare.compute[0].last_us = bare.compute[0].last_p99_us = 0;
  DeviceProfile full = Measured(900000, 1);
  full.machine = "a board";
  const auto joined = JoinProfiles({{"bare", bare}, {"full", full}});
  ASSERT_TRUE(Succeeded(joined));
  EXPECT_EQ(joined->read_bytes, 65536U);
  EXPECT_EQ(joined->machine, "a board");
  EXPECT_EQ(joined->compute[0].last_us, 0) << "as slow as any other, in one of them";
}

TEST(JoinProfiles, ShardsByBitsAreNoReadsByBytes) {
  DeviceProfile written;
  written.io = {{0, 6, 300, 0}, {0, 2, 100, 0}, {4096, 0, 10, 0}};
  written.compute = {{32, 2, 100, 0, 0}};
  const auto joined = JoinProfiles({{"a", written}, {"b", written}});
  ASSERT_TRUE(Succeeded(joined));
  ASSERT_EQ(joined->io.size(), 3U);
  EXPECT_EQ(joined->io[0].load_us, 100);
  EXPECT_EQ(joined->io[1].load_us, 300);
}

TEST(JoinProfiles, WhatDoesNotGoTogetherIsRefusedByName) {
  const NamedProfile first{"a", Measured(900000, 1)};
  const auto refuses = [&](const std::string& words, auto change) {
    NamedProfile other{"b", Measured(1800000, 1)};
    change(other.profile);
    return FailedWith(JoinProfiles({first, other}), ErrorKind::kForeign, words);
  };
  EXPECT_TRUE(refuses("b: has another model shape", [](auto& p) { p.shape.bytes[0] = 8; }));
  EXPECT_TRUE(refuses("kernel (native-sse2-fp32, not native-avx2-fp32) than a",
                      [](auto& p) { p.kernel.name = "native-sse2-fp32"; }));
  EXPECT_TRUE(refuses("read path", [](auto& p) { p.read_path = ""; }));
  EXPECT_TRUE(refuses("number of threads (1, not 2)", [](auto& p) { p.threads = 1; }));
  EXPECT_TRUE(refuses("list of cores", [](auto& p) { p.cpus = "2-3"; }));
  EXPECT_TRUE(refuses("b: does not say its clock", [](auto& p) {
    for (ComputeSample& sample : p.compute) sample.freq = 0;
  }));
  EXPECT_TRUE(FailedWith(JoinProfiles({}), ErrorKind::kUsage, "no profiles"));
}

}  // namespace
}  // namespace sti
