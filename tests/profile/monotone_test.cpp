#include "profile/monotone.h"

#include <gtest/gtest.h>

namespace sti {
namespace {

TEST(SmoothProfile, ASlowSmallReadTakesTheTimeOfTheNextLargerOne) {
  DeviceProfile profile;
  profile.io = {{8192, 0, 20, 30}, {4096, 0, 10, 900}, {16384, 0, 15, 40}};
  SmoothProfile(profile);
  ASSERT_EQ(profile.io.size(), 3U);
  EXPECT_EQ(profile.io[0].bytes, 4096U);
  EXPECT_EQ(profile.io[0].load_us, 10);
  EXPECT_EQ(profile.io[0].p99_us, 30);
  EXPECT_EQ(profile.io[1].load_us, 15);
  EXPECT_EQ(profile.io[1].p99_us, 30);
  EXPECT_EQ(profile.io[2].p99_us, 40);
}

TEST(SmoothProfile, AHiccupIsLoweredByWiderAndByLongerLayers) {
  DeviceProfile profile;
  profile.compute = {
      {32, 2, 10, 4000, 0}, {32, 4, 18, 4000, 0}, {64, 2, 19, 25, 0}, {64, 4, 35, 45, 0}};
  SmoothProfile(profile);
  EXPECT_EQ(profile.compute[0].p99_us, 25);
  EXPECT_EQ(profile.compute[1].p99_us, 45);
  EXPECT_EQ(profile.compute[1].layer_us, 18);
}

TEST(SmoothProfile, LastLayersAreLoweredByThemselves) {
  DeviceProfile profile;
  profile.compute = {{16, 1, 5, 6, 0, 9, 11}, {16, 2, 8, 9, 0, 4, 5}};
  SmoothProfile(profile);
  EXPECT_EQ(profile.compute[0].layer_us, 5);
  EXPECT_EQ(profile.compute[0].last_us, 4);
  EXPECT_EQ(profile.compute[0].last_p99_us, 5);
  EXPECT_EQ(profile.compute[1].last_us, 4);
}

TEST(SmoothProfile, NarrowerOrShorterLayersLowerNothing) {
  DeviceProfile profile;
  profile.compute = {{32, 4, 18, 20, 0}, {64, 2, 9, 10, 0}};
  SmoothProfile(profile);
  EXPECT_EQ(profile.compute[0].layer_us, 18);
  EXPECT_EQ(profile.compute[1].layer_us, 9);
}

TEST(SmoothProfile, SoundProfilesStay) {
  DeviceProfile profile;
  profile.io = {{4096, 0, 10, 12}, {8192, 0, 20, 25}};
  profile.compute = {{32, 2, 10, 11, 0}, {32, 4, 18, 20, 0}, {64, 2, 19, 22, 0}};
  DeviceProfile before = profile;
  SmoothProfile(profile);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(profile.io[i].p99_us, before.io[i].p99_us);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(profile.compute[i].p99_us, before.compute[i].p99_us);
}

}  // namespace
}  // namespace sti
