#include "profile/device_state.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

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

constexpr uint32_t kCores[] = {0, 3};

/// Two cores that go from 600 to 2400 MHz and are bounded to 800 and 2000.
class ClockSettingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const uint32_t core : kCores) {
      std::filesystem::create_directories(Folder(core));
      Write(core, "cpuinfo_min_freq", 600000);
      Write(core, "cpuinfo_max_freq", 2400000);
      Write(core, "scaling_min_freq", 800000);
      Write(core, "scaling_max_freq", 2000000);
    }
  }
  [[nodiscard]] std::string Folder(uint32_t core) const {
    return folder_.path() + "/cpu" + std::to_string(core) + "/cpufreq/";
  }
  void Write(uint32_t core, const std::string& name, uint64_t khz) const {
    std::ofstream(Folder(core) + name) << khz << "\n";
  }
  [[nodiscard]] uint64_t Read(uint32_t core, const std::string& name) const {
    std::ifstream file(Folder(core) + name);
    uint64_t khz = 0;
    file >> khz;
    return khz;
  }
  void ExpectBounds(uint64_t min_khz, uint64_t max_khz) const {
    for (const uint32_t core : kCores) {
      EXPECT_EQ(Read(core, "scaling_min_freq"), min_khz) << core;
      EXPECT_EQ(Read(core, "scaling_max_freq"), max_khz) << core;
    }
  }

  TempFolder folder_;
};

TEST_F(ClockSettingTest, SetsOneClockAfterAnotherAndPutsBackWhatItFound) {
  {
    auto setting = ClockSetting::Make(kCores, folder_.path());
    ASSERT_TRUE(Succeeded(setting));
    ExpectBounds(800000, 2000000);
    for (const uint64_t khz : {600000, 2400000, 1200000}) {
      ASSERT_TRUE(Succeeded(setting->Set(khz)));
      ExpectBounds(khz, khz);
    }
    const ClockSetting moved = std::move(setting).value();
    ExpectBounds(1200000, 1200000);
  }
  ExpectBounds(800000, 2000000);
}

TEST(SetClock, IsOfAllThatIsComputed) {
  DeviceProfile profile;
  profile.compute = {{16, 1, 5}};
  profile.decode = {{2, -1}};
  profile.batches = {{4, {{16, 1, 15}}, {}}};
  SetClock(900000, &profile);
  EXPECT_EQ(profile.compute[0].freq, 900000U);
  EXPECT_EQ(profile.decode[0].freq, 900000U);
  EXPECT_EQ(profile.batches[0].compute[0].freq, 900000U);
}

TEST_F(ClockSettingTest, ClocksThatTheCoreHasNotChangeNothing) {
  auto setting = ClockSetting::Make(kCores, folder_.path());
  ASSERT_TRUE(Succeeded(setting));
  for (const uint64_t khz : {599999, 2400001}) {
    EXPECT_TRUE(FailedWith(setting->Set(khz), ErrorKind::kInfeasible, "from 600000 to 2400000"));
    ExpectBounds(800000, 2000000);
  }
}

TEST_F(ClockSettingTest, WithoutScalingItSaysSo) {
  const uint32_t others[] = {0, 1};
  EXPECT_TRUE(FailedWith(ClockSetting::Make(others, folder_.path()), ErrorKind::kInfeasible,
                         "does not scale it"));
  std::filesystem::remove(Folder(3) + "scaling_min_freq");
  EXPECT_FALSE(ClockSetting::Make(kCores, folder_.path()).ok());
}

TEST_F(ClockSettingTest, ACoreThatGoesAwayLeavesTheOthersRestored) {
  auto setting = ClockSetting::Make(kCores, folder_.path());
  ASSERT_TRUE(Succeeded(setting));
  ASSERT_TRUE(Succeeded(setting->Set(1200000)));
  std::filesystem::remove_all(folder_.path() + "/cpu0");
  EXPECT_TRUE(FailedWith(setting->Restore(), ErrorKind::kInfeasible, "cannot be set"));
  EXPECT_EQ(Read(3, "scaling_min_freq"), 800000U);
  EXPECT_EQ(Read(3, "scaling_max_freq"), 2000000U);
}

}  // namespace

}  // namespace sti
