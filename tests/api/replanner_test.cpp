// A device that changes between inputs, in numbers: runs are made up, clocks and memory too.
#include "api/replanner.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/remedy.h"
#include "plan/device_model.h"
#include "replanner_world.h"
#include "text/tokenizer.h"

namespace sti {
namespace {

using namespace std::chrono_literals;

TEST_F(ReplannerTest, ADeviceThatIsAsPlannedKeepsItsPlan) {
  Open(Profile());
  EXPECT_TRUE(Look().empty());
  Runs(4 * DriftWatch::kRuns, 1.1, 0.9);
  EXPECT_TRUE(Look().empty());
  EXPECT_TRUE(IsFirst());
}

TEST_F(ReplannerTest, SlowReadsGetAPlanThatReadsLess) {
  Open(Profile());
  Runs(DriftWatch::kLeastRuns, 1, 2.5);
  EXPECT_TRUE(PlannedAgain(Look(), "reads take 2.50 times what the profile says"));
  EXPECT_LT(InForce().parameter_bytes, first_.parameter_bytes);
  EXPECT_LE(InForce().predicted_p99_us, *request_.target_us);
  EXPECT_TRUE(Look().empty());
  // The new plan counts on them, so that such runs are as planned.
  Runs(DriftWatch::kRuns, 1, 1);
  EXPECT_TRUE(Look().empty());
}

TEST_F(ReplannerTest, DriftUnderANewPlanComesOnTopOfWhatItCountsOn) {
  Open(Profile());
  Runs(DriftWatch::kLeastRuns, 2, 1);
  EXPECT_TRUE(PlannedAgain(Look(), "layers take 2.00 times what the profile says"));
  Runs(DriftWatch::kLeastRuns, 1.5, 1);
  EXPECT_TRUE(PlannedAgain(Look(), "layers take 3.00 times what the profile says"));
}

TEST_F(ReplannerTest, ADeviceThatIsItselfAgainGetsItsPlanBack) {
  Open(Profile());
  Runs(DriftWatch::kLeastRuns, 1, 2);
  ASSERT_EQ(Look().size(), 1U);
  EXPECT_FALSE(IsFirst());
  Runs(DriftWatch::kRuns, 1, 0.5);
  EXPECT_TRUE(PlannedAgain(Look(), "reads take 1.00 times what the profile says"));
  EXPECT_TRUE(IsFirst());
}

TEST_F(ReplannerTest, ADeviceThatOnlySeemsFasterUnderASmallerPlanIsTriedLessAndLessOften) {
  Open(Profile());
  size_t before = 0;
  for (int round = 0; round < 4; ++round) {
    Runs(DriftWatch::kLeastRuns, 2, 1);
    ASSERT_EQ(Look().size(), 1U);
    EXPECT_FALSE(IsFirst());
    size_t runs = 0;
    while (!IsFirst()) {
      ASSERT_LT(++runs, 1000U);
      Runs(1, 0.5, 1);
      Look();
    }
    EXPECT_GE(runs, std::max(2 * before, DriftWatch::kRuns));
    before = runs;
  }
  // One that stays as it is for long is believed as at first.
  Runs(4000, 1, 1);
  EXPECT_TRUE(Look().empty());
  Runs(DriftWatch::kLeastRuns, 2, 1);
  ASSERT_EQ(Look().size(), 1U);
  Runs(DriftWatch::kRuns, 0.5, 1);
  Look();
  EXPECT_TRUE(IsFirst());
}

TEST_F(ReplannerTest, NoPlanCountsOnADeviceThatIsFasterThanItsProfile) {
  Open(Profile());
  Runs(2 * DriftWatch::kRuns, 0.3, 0.3);
  EXPECT_TRUE(Look().empty());
  EXPECT_TRUE(IsFirst());
}

TEST_F(ReplannerTest, APlanThatCannotBeReadIsTriedAgainAndToldOnce) {
  request_.preload_bytes = 1 << 20;
  request_.target_us = 3000;
  Open(Profile(), {}, true);
  Runs(DriftWatch::kLeastRuns, 3, 1);
  ASSERT_EQ(Look().size(), 1U);
  ASSERT_FALSE(IsFirst());
  Runs(DriftWatch::kRuns, 1.0 / 3, 1);
  faults_->Inject({.kind = FaultKind::kError});
  const std::vector<Notice> told = Look();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, Notice::Kind::kPlanKept);
  const uint64_t reads = faults_->reads();
  EXPECT_TRUE(Look({}, 1s).empty());
  EXPECT_EQ(faults_->reads(), reads) << "not with every input";
  EXPECT_TRUE(Look({}, 2s).empty());
  EXPECT_GT(faults_->reads(), reads) << "but every two seconds";
  EXPECT_FALSE(IsFirst());
  faults_->Heal();
  EXPECT_TRUE(PlannedAgain(Look({}, 2s), "layers take 1.00 times what the profile says"));
  EXPECT_TRUE(IsFirst());
}

TEST_F(ReplannerTest, WhereThereIsNoPlanTheOldOneStaysWhichIsSaidOnce) {
  Open(Profile());
  Runs(DriftWatch::kLeastRuns, 1000, 1);
  const auto told = Look();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, Notice::Kind::kPlanKept);
  EXPECT_EQ(told[0].why, "layers take 1000.00 times what the profile says");
  EXPECT_NE(told[0].actual.find("no plan meets"), std::string::npos) << told[0].actual;
  EXPECT_TRUE(IsFirst());
  for (int run = 0; run < 10; ++run) {
    Runs(1, 1000, 1);
    EXPECT_TRUE(Look().empty());
  }
  // Less drift is another matter.
  Runs(DriftWatch::kRuns, 2, 1);
  EXPECT_TRUE(PlannedAgain(Look(), "layers take 2.00 times what the profile says"));
}

TEST_F(ReplannerTest, APlanWithACascadeIsReplacedByOneWithACascade) {
  Importance importance;
  importance.layers = 5;
  importance.width = 4;
  importance.scores.resize(20);
  importance.cascade_levels = {{.depth = 1, .width = 2, .bits = 2, .accuracy = 0.5},
                               {.depth = 5, .width = 4, .bits = 2, .accuracy = 0.6}};
  importance.cascades = {
      {{0, 1}, 0, {{0.9, std::nullopt, {1}, {0.5, 0.5}, {0.6, 0.7}, 0.65, {1}}}}};
  request_.mode = CascadeWish{};
  request_.allow_untrained = true;
  const ContainerFile file = File();
  auto plan = MakePlan(PlanInputs(file, Profile(), importance).View(), request_);
  ASSERT_TRUE(Succeeded(plan));
  auto session = Session::Open(File(), *plan, {});
  ASSERT_TRUE(Succeeded(session));
  // Without what was measured of cascades the replanner would drop this one.
  EXPECT_TRUE(FailedWith(Replanner::Make(**session, {Profile(), {}}, nullptr), ErrorKind::kUsage,
                         "the plan has a cascade", Remedy::kMeasureCascades));
  auto replanner = Replanner::Make(**session, {Profile(), importance}, nullptr);
  ASSERT_TRUE(Succeeded(replanner));
  const double planned_us = plan->cascade->mean_us;
  for (size_t run = 0; run < DriftWatch::kLeastRuns; ++run) (*session)->drift().Add(1, 2);
  ASSERT_TRUE(Succeeded(replanner->Look({}, at_)));
  const Plan& next = (*session)->plan();
  ASSERT_TRUE(next.cascade);
  EXPECT_GT(next.cascade->mean_us, planned_us);
  EXPECT_LE(next.cascade->worst_path_us, *request_.target_us);
  // Nor is one from elsewhere taken that could not be replaced.
  request_.mode = PlanRequest::Warm{};
  Open(Profile());
  EXPECT_TRUE(FailedWith(replanner_->Take(*plan, 0), ErrorKind::kUsage, "the plan has a cascade"));
}

TEST_F(ReplannerTest, AnotherClockOfTheProfileGetsAPlanOfItsOwn) {
  Open(Profile(true));
  EXPECT_TRUE(Look({.clock_khz = kFast_khz + 1}).empty());
  EXPECT_TRUE(PlannedAgain(Look({.clock_khz = kSlow_khz}), "the clock is 900 MHz now"));
  EXPECT_EQ(InForce().freq, kSlow_khz);
  EXPECT_TRUE(Look({.clock_khz = kSlow_khz}).empty());
  EXPECT_TRUE(Look({.clock_khz = kSlow_khz / 2}).empty()) << "the profile has none so low";
  EXPECT_TRUE(Look({}).empty()) << "not known for once";
  EXPECT_TRUE(PlannedAgain(Look({.clock_khz = kFast_khz}), "the clock is 1800 MHz now"));
  EXPECT_TRUE(IsFirst());
}

TEST_F(ReplannerTest, APlanWithVariantsForTheClockIsNotMadeAgain) {
  request_.clocks = {kFast_khz, kSlow_khz};
  Open(Profile(true));
  ASSERT_TRUE(Succeeded(session_->SetClock(kFast_khz)));
  EXPECT_TRUE(Look({.clock_khz = kFast_khz}).empty());
  const auto told = Look({.clock_khz = kSlow_khz});
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, Notice::Kind::kOtherVariants);
  EXPECT_EQ(session_->PlanFor(3).freq, kSlow_khz);
  EXPECT_EQ(Look({.clock_khz = kFast_khz}).size(), 1U);
  EXPECT_EQ(session_->PlanFor(3).freq, kFast_khz);
}

// The profile has the times of another clock, and the drift of layers was of the one before; reads
// know no clock.
TEST_F(ReplannerTest, APlanForAnotherClockCountsOnItsTimesAsTheyAre) {
  request_.target_us = 12000;
  Open(Profile(true));
  EXPECT_TRUE(Look({.clock_khz = kFast_khz}).empty());
  Runs(DriftWatch::kLeastRuns, 2, 1.5);
  ASSERT_TRUE(PlannedAgain(Look({.clock_khz = kFast_khz}),
                           "layers take 2.00 times what the profile says, reads take 1.50 times "
                           "what the profile says"));
  EXPECT_TRUE(
      PlannedAgain(Look({.clock_khz = kSlow_khz}),
                   "the clock is 900 MHz now, layers take 1.00 times what the profile says"));
  request_.clocks = {kSlow_khz};
  const Plan fresh = PlanBy(DriftedProfile(Profile(true), 1, 1.5));
  EXPECT_EQ(InForce().bits, fresh.bits);
  EXPECT_EQ(InForce().predicted_latency_us, fresh.predicted_latency_us);
}

// The drift that was seen, and could not be answered, was of the clock before.
TEST_F(ReplannerTest, OtherVariantsBeginWithoutDriftOfTheClockBefore) {
  request_.clocks = {kFast_khz, kSlow_khz};
  request_.preload_bytes = 100 << 10;
  SessionOptions options;
  options.clock_khz = kFast_khz;
  Open(Profile(true), options, true);
  EXPECT_TRUE(Look({.clock_khz = kFast_khz}).empty());
  Runs(DriftWatch::kLeastRuns, 1, 3);
  faults_->Inject({.kind = FaultKind::kError});
  const auto refused = Look({.clock_khz = kFast_khz});
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].kind, Notice::Kind::kPlanKept);
  faults_->Heal();
  const auto told = Look({.clock_khz = kSlow_khz}, 2s);
  ASSERT_EQ(told.size(), 1U) << "no plan before a run";
  EXPECT_EQ(told[0].kind, Notice::Kind::kOtherVariants);
  EXPECT_TRUE(Look({.clock_khz = kSlow_khz}, 2s).empty());
  Runs(DriftWatch::kLeastRuns, 1, 3);
  EXPECT_TRUE(PlannedAgain(Look({.clock_khz = kSlow_khz}, 2s),
                           "reads take 3.00 times what the profile says"));
}

TEST_F(ReplannerTest, ShortMemoryHalvesTheBufferAndAMinuteWithoutDoublesIt) {
  request_.preload_bytes = 200 << 10;
  Open(Profile());
  const uint64_t whole = first_.preload_bytes;
  ASSERT_GT(whole, 128U << 10);
  const Surroundings is_short{.memory_is_short = true};
  EXPECT_TRUE(PlannedAgain(Look(is_short), "memory is short"));
  EXPECT_LE(session_->status().preload_bytes, whole / 2);
  EXPECT_TRUE(Look(is_short).empty()) << "what was given back has to show first";
  EXPECT_TRUE(PlannedAgain(Look(is_short), "memory is short"));
  EXPECT_EQ(session_->status().preload_bytes, 0U);
  EXPECT_TRUE(Look(is_short, 10s).empty()) << "there is nothing left to give";
  EXPECT_TRUE(Look({}, 59s).empty());
  EXPECT_TRUE(PlannedAgain(Look({}, 2s), "memory is no longer short"));
  EXPECT_GT(session_->status().preload_bytes, 0U);
  EXPECT_TRUE(Look({}, 59s).empty());
  EXPECT_TRUE(PlannedAgain(Look({}, 2s), "memory is no longer short"));
  EXPECT_TRUE(IsFirst());
  EXPECT_TRUE(Look({}, 100s).empty());
}

// All that stays in memory is halved: also what turns keep beyond what is preloaded.
// Four open files bring four times what one does, so that four agents are best, and in less memory
// fewer. The bits are those of any number.
TEST_F(ReplannerTest, ShortMemoryLeavesFewerAgentsAndAMinuteWithoutBringsThemBack) {
  DeviceProfile profile = Profile();
  profile.streams = {{1, 5}, {2, 10}, {4, 20}, {8, 20}};
  profile.read_bytes = kBlockBytes;
  request_ = {};
  request_.strategy = Strategy::kPipeload;
  Open(profile);
  const uint32_t agents = InForce().agents;
  const uint64_t staging = *InForce().staging_bytes;
  ASSERT_GT(agents, 1U);
  Answer answer;
  const auto words = session_->Encode("one two");
  ASSERT_TRUE(Succeeded(words));
  ASSERT_TRUE(Succeeded(session_->Ask(*words, Clock::now(), &answer)));
  const std::vector<float> values = answer.run.values;
  const Surroundings is_short{.memory_is_short = true};
  ASSERT_TRUE(PlannedAgain(Look(is_short), "memory is short"));
  EXPECT_LE(*InForce().staging_bytes, staging / 2);
  EXPECT_LE(InForce().agents, agents);
  EXPECT_EQ(SubmodelOf(InForce()), SubmodelOf(first_));
  EXPECT_EQ(InForce().bits, first_.bits);
  ASSERT_TRUE(Succeeded(session_->Ask(*words, Clock::now(), &answer)));
  EXPECT_EQ(answer.run.values, values);
  ASSERT_TRUE(PlannedAgain(Look({}, std::chrono::seconds(61)), "memory is no longer short"));
  EXPECT_EQ(InForce().agents, agents);
  EXPECT_EQ(InForce().staging_bytes, staging);
}

TEST_F(ReplannerTest, ShortMemoryHalvesWhatTurnsKeepToo) {
  request_.preload_bytes = 200 << 10;
  request_.mode = PlanRequest::Turns{3, 800 << 10};
  request_.target_us = 3000;
  Open(Profile());
  ASSERT_EQ(first_.turn_bytes, 800U << 10);
  const Surroundings is_short{.memory_is_short = true};
  for (uint64_t bytes = 400 << 10; bytes > 32 << 10; bytes /= 2) {
    EXPECT_TRUE(PlannedAgain(Look(is_short, 2s), "memory is short"));
    EXPECT_LE(InForce().turn_bytes, bytes);
    for (const PlanTurn& turn : InForce().turns)
      EXPECT_LE(CatalogOf(session_->status().file->index()).BytesOfAll(turn.preload), bytes);
  }
  EXPECT_EQ(InForce().turn_bytes, std::nullopt);
  EXPECT_TRUE(Look(is_short, 10s).empty()) << "there is nothing left to give";
  while (!IsFirst()) ASSERT_TRUE(PlannedAgain(Look({}, 61s), "memory is no longer short"));
  EXPECT_EQ(InForce().turn_bytes, first_.turn_bytes);
}

TEST_F(ReplannerTest, AnotherPlanIsTheOneToBeAnswered) {
  Open(Profile());
  Runs(DriftWatch::kLeastRuns, 1, 2);
  ASSERT_EQ(Look().size(), 1U);
  request_.target_us = 9000;
  ASSERT_TRUE(Succeeded(replanner_->Take(PlanBy(Profile()), 0)));
  EXPECT_EQ(InForce().target_us, 9000);
  EXPECT_TRUE(Look().empty()) << "it counts on the profile until runs show otherwise";
  Runs(DriftWatch::kLeastRuns, 1, 2);
  EXPECT_EQ(Look().size(), 1U);
  EXPECT_EQ(InForce().target_us, 9000);
  // One that cannot be answered, or does not belong here, changes nothing.
  Plan other = PlanBy(Profile());
  other.target_us.reset();
  EXPECT_TRUE(FailedWith(replanner_->Take(other, 0), ErrorKind::kUsage, "has no target"));
  other = PlanBy(Profile());
  other.model.bytes[0] ^= 1;
  EXPECT_FALSE(replanner_->Take(other, 0).ok());
  EXPECT_EQ(InForce().target_us, 9000);
}

TEST_F(ReplannerTest, MemoryThatIsBoundedIsDividedAnew) {
  request_.preload_bytes = 100 << 10;
  const Plan plan = PlanBy(Profile());
  SessionOptions options;
  {
    const auto unbounded = Session::Open(File(), plan, {});
    ASSERT_TRUE(Succeeded(unbounded));
    options.own_bytes = (*unbounded)->memory_bytes() + (64 << 10);
  }
  Open(Profile(), options);
  EXPECT_LE(session_->memory_bytes(), *options.own_bytes);
  Runs(DriftWatch::kLeastRuns, 1, 2);
  ASSERT_EQ(Look().size(), 1U);
  EXPECT_FALSE(IsFirst());
  EXPECT_LE(session_->memory_bytes(), *options.own_bytes);
  EXPECT_LE(InForce().predicted_peak_bytes, *options.own_bytes) << "it counts on no more";
}

TEST_F(ReplannerTest, APlanWithoutATargetIsNotFollowed) {
  Plan plan = PlanBy(Profile());
  plan.target_us.reset();
  auto session = Session::Open(File(), plan, {});
  ASSERT_TRUE(Succeeded(session));
  EXPECT_TRUE(FailedWith(Replanner::Make(**session, {Profile(), {}}, {}), ErrorKind::kUsage,
                         "has no target"));
}

}  // namespace
}  // namespace sti
