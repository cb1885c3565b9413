#include "profile/device_state.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/remedy.h"
#include "support/expect.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

class DeviceStateTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    const std::string path = folder_.File(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    ASSERT_TRUE(Succeeded(WriteBytes(path, text)));
  }
  void Clock(uint32_t core, uint64_t khz) {
    Write("cpu" + std::to_string(core) + "/cpufreq/scaling_cur_freq", std::to_string(khz) + "\n");
  }
  void Zone(uint32_t zone, const std::string& type, int thousandths) {
    const std::string name = "thermal_zone" + std::to_string(zone);
    Write(name + "/type", type + "\n");
    Write(name + "/temp", std::to_string(thousandths) + "\n");
  }
  std::string Path() { return folder_.File("."); }

  TempFolder folder_;
};

TEST_F(DeviceStateTest, ClocksOfTheCoresThatCountAlone) {
  Clock(0, 900000);
  Clock(2, 2100000);
  Clock(3, 1800000);
  const uint32_t cores[] = {1, 2, 3};
  const ClockRange range = ClocksOf(cores, Path());
  EXPECT_EQ(range.min_khz, 1800000U);
  EXPECT_EQ(range.max_khz, 2100000U);
}

TEST_F(DeviceStateTest, ASystemThatDoesNotTellIsZero) {
  const uint32_t cores[] = {0, 1};
  EXPECT_EQ(ClocksOf(cores, Path()).max_khz, 0U);
  EXPECT_EQ(HottestCelsius(Path()), 0);
  StateWatch watch(cores, Path(), Path());
  watch.Look();
  const ThermalState state = watch.Finish();
  EXPECT_EQ(state.freq_min, 0U);
  EXPECT_EQ(state.celsius_after, 0);
  EXPECT_FALSE(StateWarning(state));
}

TEST_F(DeviceStateTest, TheHottestZoneOfAProcessor) {
  Zone(0, "battery", 71000);
  Zone(1, "cpu-0-0-usr", 48250);
  Zone(2, "x86_pkg_temp", 51500);
  Zone(3, "SoC", 50000);
  EXPECT_EQ(HottestCelsius(Path()), 51.5);
}

TEST_F(DeviceStateTest, AWatchKeepsTheRangeOfTheBusyCoreAndBothTemperatures) {
  const uint32_t cores[] = {0, 1};
  Zone(0, "cpu", 40000);
  StateWatch watch(cores, Path(), Path());
  Clock(0, 800000);
  Clock(1, 2400000);
  watch.Look();
  Clock(1, 1500000);
  watch.Look();
  Zone(0, "cpu", 62000);
  const ThermalState state = watch.Finish();
  EXPECT_EQ(state.freq_min, 1500000U);
  EXPECT_EQ(state.freq_max, 2400000U);
  EXPECT_EQ(state.celsius_before, 40);
  EXPECT_EQ(state.celsius_after, 62);
}

TEST_F(DeviceStateTest, WhatChangedIsSaid) {
  const auto slower = StateWarning({1500000, 2400000, 0, 0});
  ASSERT_TRUE(slower);
  EXPECT_NE(slower->what.find("between 1500 and 2400 MHz"), std::string::npos) << slower->what;
  EXPECT_FALSE(StateWarning({2350000, 2400000, 40, 49}));
  const auto hotter = StateWarning({2400000, 2400000, 40, 62});
  ASSERT_TRUE(hotter);
  EXPECT_NE(hotter->what.find("from 40 to 62 degrees"), std::string::npos) << hotter->what;
  EXPECT_EQ(hotter->remedy, Remedy::kCoolCores);
  EXPECT_FALSE(StateWarning({2400000, 2400000, 0, 62}));
}

}  // namespace
}  // namespace sti
