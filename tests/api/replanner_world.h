// A session over a tiny model, whose device changes between inputs as numbers say, and its
// replanner.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/plan_inputs.h"
#include "api/replanner.h"
#include "base/remedy.h"
#include "plan/planner.h"
#include "support/expect.h"
#include "support/fault_reader.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {

inline constexpr uint64_t kFast_khz = 1800000;
inline constexpr uint64_t kSlow_khz = 900000;

class ReplannerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, FiveByFour())));
    request_.target_us = 6000;
  }

  [[nodiscard]] ContainerFile File() const {
    auto file = ContainerFile::Open(path_);
    EXPECT_TRUE(Succeeded(file));
    return std::move(file).value();
  }
  /// Its reads fail where `reader` says so, which it holds.
  [[nodiscard]] ContainerFile FileThatFails(FaultReader** reader) const {
    auto sound = OpenBlockReader(path_);
    EXPECT_TRUE(Succeeded(sound));
    auto faults = std::make_unique<FaultReader>(std::move(*sound));
    *reader = faults.get();
    auto file = ContainerFile::Open(std::move(faults));
    EXPECT_TRUE(Succeeded(file));
    return std::move(file).value();
  }
  /// A shard of k bits loads in 60 k us, a layer of m slices takes 100 m us, twice that at half the
  /// clock.
  static DeviceProfile Profile(bool clocks = false) {
    DeviceProfile profile;
    for (const uint32_t bits : {2U, 3U, 4U, 5U, 6U, 32U})
      profile.io.push_back({.bits = bits, .load_us = 60.0 * bits, .p99_us = 60.0 * bits});
    for (uint32_t width = 1; width <= 4; ++width) {
      const double layer_us = 100.0 * width;
      profile.compute.push_back({32, width, layer_us, layer_us, clocks ? kFast_khz : 0});
      if (clocks) profile.compute.push_back({32, width, 2 * layer_us, 2 * layer_us, kSlow_khz});
    }
    return profile;
  }
  [[nodiscard]] Plan PlanBy(const DeviceProfile& profile) const {
    const ContainerFile file = File();
    auto plan = MakePlan(PlanInputs(file, profile, {}).View(), request_);
    EXPECT_TRUE(Succeeded(plan));
    return std::move(plan).value();
  }
  /// Opens a session under the plan for this device, and its replanner.
  void Open(const DeviceProfile& profile, const SessionOptions& options = {},
            bool may_fail = false) {
    first_ = PlanBy(profile);
    auto session = Session::Open(may_fail ? FileThatFails(&faults_) : File(), first_, options);
    ASSERT_TRUE(Succeeded(session));
    session_ = std::move(*session);
    auto replanner = Replanner::Make(*session_, {profile, {}},
                                     [this](const Notice& notice) { notices_.push_back(notice); });
    ASSERT_TRUE(Succeeded(replanner));
    replanner_.emplace(std::move(*replanner));
  }
  void Runs(size_t count, double compute_ratio, double io_ratio) {
    for (size_t run = 0; run < count; ++run) session_->drift().Add(compute_ratio, io_ratio);
  }
  /// Looks after `passed`, and returns what was told.
  std::vector<Notice> Look(const Surroundings& now = {},
                           Clock::duration passed = std::chrono::seconds(1)) {
    notices_.clear();
    at_ += passed;
    EXPECT_TRUE(Succeeded(replanner_->Look(now, at_)));
    return notices_;
  }
  [[nodiscard]] const Plan& InForce() const { return session_->plan(); }
  [[nodiscard]] bool IsFirst() const {
    return InForce().bits == first_.bits && InForce().preload == first_.preload;
  }
  static bool PlannedAgain(const std::vector<Notice>& notices, const std::string& why) {
    return notices.size() == 1 && notices[0].kind == Notice::Kind::kPlannedAgain &&
           notices[0].why == why && !notices[0].actual.empty();
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  PlanRequest request_;
  Plan first_;
  FaultReader* faults_ = nullptr;
  std::unique_ptr<Session> session_;
  std::optional<Replanner> replanner_;
  std::vector<Notice> notices_;
  Clock::time_point at_ = Clock::now();
};

}  // namespace sti
