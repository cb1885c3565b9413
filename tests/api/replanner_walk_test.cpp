// A replanner that takes a plan from elsewhere is as one that was made under it, whatever its
// device went through before.
#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "replanner_world.h"
#include "support/random.h"

namespace sti {
namespace {

class ReplannerWalk : public ReplannerTest {
 protected:
  /// A session with its replanner, what was told of it, and the reads below it.
  struct Kept {
    FaultReader* faults = nullptr;
    std::unique_ptr<Session> session;
    std::vector<Notice> notices;
    std::optional<Replanner> replanner;
  };
  /// The fate of a device, and of its reads, before the next look.
  struct Step {
    size_t runs = 0;
    double compute_ratio = 1;
    double io_ratio = 1;
    std::optional<bool> reads_fail;  ///< from here on; nothing: as before
    Surroundings now;
    Clock::duration passed;
  };

  std::unique_ptr<Kept> OpenUnder(const Plan& plan, const DeviceProfile& profile,
                                  uint64_t clock_khz) {
    auto kept = std::make_unique<Kept>();
    SessionOptions options;
    options.clock_khz = clock_khz;
    auto session = Session::Open(FileThatFails(&kept->faults), plan, options);
    EXPECT_TRUE(Succeeded(session));
    kept->session = std::move(*session);
    auto replanner = Replanner::Make(
        *kept->session, {profile, {}},
        [&notices = kept->notices](const Notice& notice) { notices.push_back(notice); });
    EXPECT_TRUE(Succeeded(replanner));
    kept->replanner.emplace(std::move(*replanner));
    return kept;
  }

  /// No run is faster than planned: how long such a device is tried is learnt of the device, not of
  /// the plan, and lasts.
  Step AnyStep() {
    constexpr std::array kRatios = {1.0, 1.0, 1.5, 2.5, 1000.0};
    Step step;
    step.runs = random_.Below(2) * DriftWatch::kLeastRuns;
    step.compute_ratio = kRatios[random_.Below(kRatios.size())];
    step.io_ratio = kRatios[random_.Below(kRatios.size() - 1)];
    if (random_.Below(3) == 0) step.reads_fail = random_.Below(2) == 0;
    if (random_.Below(3) == 0) clock_khz_ = random_.Below(2) == 0 ? kFast_khz : kSlow_khz;
    step.now = {.clock_khz = clock_khz_, .memory_is_short = random_.Below(4) == 0};
    step.passed = std::chrono::seconds(random_.Below(5) == 0 ? 100 : random_.Below(4));
    return step;
  }
  static void Do(const Step& step, Clock::time_point at, Kept& kept) {
    for (size_t run = 0; run < step.runs; ++run)
      kept.session->drift().Add(step.compute_ratio, step.io_ratio);
    if (step.reads_fail) kept.faults->Heal();
    if (step.reads_fail == true) kept.faults->Inject({.kind = FaultKind::kError});
    kept.notices.clear();
    EXPECT_TRUE(Succeeded(kept.replanner->Look(step.now, at)));
  }
  static std::string Told(const Kept& kept) {
    std::string told;
    for (const Notice& notice : kept.notices)
      told += std::to_string(static_cast<int>(notice.kind)) + " " + notice.actual + " because " +
              notice.why + "\n";
    return told;
  }

  /// Any request that a plan answers, and its plan.
  Plan AnyPlan(const DeviceProfile& profile) {
    constexpr std::array kTargets_us = {3000.0, 6000.0, 9000.0};
    constexpr std::array<uint64_t, 3> kBuffers = {0, 200 << 10, 1 << 20};
    request_ = {};
    request_.target_us = kTargets_us[random_.Below(kTargets_us.size())];
    request_.preload_bytes = kBuffers[random_.Below(kBuffers.size())];
    if (random_.Below(2) == 0) request_.clocks = {kFast_khz, kSlow_khz};
    return PlanBy(profile);
  }

  TestRandom random_{60};
  uint64_t clock_khz_ = kFast_khz;
};

TEST_F(ReplannerWalk, APlanTakenIsFollowedAsByAFreshReplanner) {
  constexpr int kWalks = 100;
  const DeviceProfile profile = Profile(true);
  size_t told = 0;
  for (int walk = 0; walk < kWalks; ++walk) {
    auto walked = OpenUnder(AnyPlan(profile), profile, clock_khz_);
    for (uint64_t steps = 1 + random_.Below(4); steps > 0; --steps) {
      const Step step = AnyStep();
      at_ += step.passed;
      Do(step, at_, *walked);
    }
    walked->faults->Heal();
    const Plan plan = AnyPlan(profile);
    ASSERT_TRUE(Succeeded(walked->replanner->Take(plan, 0)));
    const auto fresh = OpenUnder(plan, profile, clock_khz_);
    for (int step_number = 0; step_number < 5; ++step_number) {
      const Step step = AnyStep();
      at_ += step.passed;
      Do(step, at_, *walked);
      Do(step, at_, *fresh);
      ASSERT_EQ(Told(*walked), Told(*fresh)) << "walk " << walk << ", step " << step_number;
      told += fresh->notices.size();
      const Plan& followed = walked->session->plan();
      const Plan& expected = fresh->session->plan();
      ASSERT_EQ(followed.bits, expected.bits);
      ASSERT_EQ(followed.preload, expected.preload);
      ASSERT_EQ(followed.freq, expected.freq);
      ASSERT_EQ(followed.variants.size(), expected.variants.size());
    }
  }
  EXPECT_GT(told, 2 * kWalks);
}

}  // namespace
}  // namespace sti
