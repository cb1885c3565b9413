#include "profile/clock_setting.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/expect.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

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
