// Staging: the least that delays nothing, and what it adds to the peak.
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/judge.h"
#include "plan/planned_run.h"
#include "plan/shard_room.h"
#include "world.h"

namespace sti {
namespace {

constexpr uint64_t kBlock = 4096;

PlannedRun RandomRun(test::Random* random) {
  PlannedRun run;
  run.lane = {{1.0 + random->Below(5), 1.0 * random->Below(30), 2},
              1 + random->Below(6),
              1.0 + random->Below(40)};
  for (uint32_t k = 0; k < run.lane.layers; ++k) {
    for (uint32_t i = random->Below(5); i > 0; --i)
      run.streamed.push_back({k, kBlock * (1 + random->Below(3)), 1.0 + random->Below(20)});
  }
  run.wake_us = random->Below(3) == 0 ? 10.0 * random->Below(9) : 0;
  return run;
}

/// With nothing lost in a ring: what the play itself needs, by trying every size.
uint64_t LeastByTrying(const PlannedRun& run) {
  const double latency_us = LatencyOf(run, std::nullopt);
  uint64_t bytes = 0;
  while (LatencyOf(run, bytes) > latency_us) bytes += kBlock;
  return bytes;
}

TEST(Staging, IsTheLeastThatDelaysNothing) {
  test::Random random(71);
  DeviceProfile profile;
  profile.read_bytes = 1;  // a shard is larger
  size_t below_all = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const PlannedRun run = RandomRun(&random);
    uint64_t all = 0;
    uint64_t largest = 1;
    for (const StreamedShard& shard : run.streamed) {
      all += shard.bytes;
      largest = std::max(largest, shard.bytes);
    }
    const uint64_t least = LeastByTrying(run);
    const StagingNeed need = StagingOf(std::span(&run, 1), profile);
    ASSERT_EQ(need.enough, std::min(all, least + largest)) << trial;
    ASSERT_LE(need.least, need.enough);
    ASSERT_EQ(LatencyOf(run, need.enough), LatencyOf(run, std::nullopt));
    below_all += need.enough < all ? 1 : 0;
  }
  EXPECT_GT(below_all, 200u);
}

// Thirds of whole times round, and whole times do not.
TEST(Staging, OfTimesThatRoundIsThatOfWholeOnes) {
  test::Random random(72);
  DeviceProfile profile;
  profile.read_bytes = 1;
  for (int trial = 0; trial < 3000; ++trial) {
    const PlannedRun whole = RandomRun(&random);
    PlannedRun thirds = whole;
    thirds.wake_us /= 3;
    thirds.lane.fixed.embed_us /= 3;
    thirds.lane.fixed.embed_io_us /= 3;
    thirds.lane.fixed.head_us /= 3;
    thirds.lane.layer_us /= 3;
    thirds.lane.last_us /= 3;
    for (StreamedShard& shard : thirds.streamed) shard.load_us /= 3;
    ASSERT_EQ(StagingOf(std::span(&thirds, 1), profile).enough,
              StagingOf(std::span(&whole, 1), profile).enough)
        << trial;
  }
}

TEST(Staging, ServesBothRisksAndTheRing) {
  PlannedRun fast;
  fast.lane = {{}, 4, 100};
  for (uint32_t k = 0; k < 4; ++k) fast.streamed.push_back({k, 64 * kBlock, 100});
  PlannedRun slow = fast;
  // Reads that outrun compute stay longer.
  for (StreamedShard& shard : fast.streamed) shard.load_us = 10;
  DeviceProfile profile;
  profile.read_bytes = 80 * kBlock;
  const uint64_t fast_alone = StagingOf(std::span(&fast, 1), profile).enough;
  const uint64_t slow_alone = StagingOf(std::span(&slow, 1), profile).enough;
  EXPECT_EQ(slow_alone, (128 + 80) * kBlock) << "one computed, one read, and a read lost";
  EXPECT_EQ(fast_alone, slow_alone);
  slow.lane.layer_us = slow.lane.last_us = 250;  // compute decides: the last read may come late
  const std::array<PlannedRun, 2> both = {fast, slow};
  EXPECT_EQ(StagingOf(both, profile).enough, (128 + 80) * kBlock);
  profile.read_bytes = 35 * kBlock;
  profile.read_depth = 3;
  EXPECT_EQ(StagingOf(both, profile).enough, (128 + 105) * kBlock) << "three reads in flight";
  profile.read_depth = 1;
  EXPECT_EQ(StagingOf(both, profile).enough, (128 + 64) * kBlock) << "a part is read whole";
  profile.read_bytes = 0;
  profile.read_depth = 0;
  EXPECT_EQ(StagingOf(both, profile).enough, (128 + 64) * kBlock) << "256 KiB where not known";
  profile.read_bytes = profile.read_depth = UINT32_MAX;
  EXPECT_EQ(StagingOf(both, profile).enough, 256 * kBlock) << "never more than all";
  PlannedRun serial = fast;
  serial.serial = true;
  EXPECT_EQ(StagingOf(std::span(&serial, 1), profile).least, 256 * kBlock);
  PlannedRun none;
  none.lane = {{}, 4, 100};
  EXPECT_EQ(StagingOf(std::span(&none, 1), profile).enough, 0u);
}

/// A model on flash that is slow enough for several layers to matter, and a p99 of its own.
test::World Slow() {
  test::World world = test::Odroid();
  world.profile.fixed.push_back({128, 900, 2500, 700, 0, 0, 0});
  for (IoSample& sample : world.profile.io) sample.p99_us *= 1.3;
  for (ComputeSample& sample : world.profile.compute) sample.p99_us *= 1.1;
  world.profile.read_bytes = 128 << 10;
  world.profile.read_depth = 2;
  return world;
}

/// The same, whose times of texts of 32 tokens are known too.
test::World SlowAtTwoLengths() {
  test::World world = Slow();
  for (uint32_t m = 3; m <= 12; ++m)
    world.profile.compute.push_back({32, m, 4000.0 * m, 4000.0 * m, 0});
  world.profile.fixed.push_back({32, 300, 900, 500, 0, 0, 0});
  return world;
}

TEST(Staging, OfAPlanKeepsItsLatenciesAndLowersItsPeak) {
  const test::World world = Slow();
  const PlanInput input = world.input();
  size_t smaller = 0;
  for (const double target_us : {2e5, 3e5, 6e5}) {
    for (const uint64_t preload : {uint64_t{0}, uint64_t{2'000'000}}) {
      PlanRequest request;
      request.target_us = target_us;
      request.preload_bytes = preload;
      const auto plan = MakePlan(input, request);
      ASSERT_TRUE(plan.ok()) << plan.error().Message();
      const uint64_t all = plan->parameter_bytes - plan->preload_bytes;
      EXPECT_LE(plan->staging_bytes, all);
      smaller += plan->staging_bytes < all ? 1 : 0;
      EXPECT_EQ(plan->predicted_peak_bytes, BytesBeforeShards(input.memory, plan->Extent()) +
                                                plan->preload_bytes +
                                                plan->staging_bytes.value_or(0));
      for (const Risk risk : {Risk::kMedian, Risk::kP99}) {
        const auto device = DeviceModel::Make(world.profile, plan->length, risk);
        ASSERT_TRUE(device.ok());
        const double free_us = LatencyOf(RunOf(test::Checked(input), *device, *plan), std::nullopt);
        EXPECT_EQ(free_us,
                  risk == Risk::kP99 ? plan->predicted_p99_us : plan->predicted_latency_us);
      }
      EXPECT_EQ(plan->read_bytes, 128u << 10);
      EXPECT_EQ(plan->read_depth, 2u);
      const auto check = CheckPlan(input, request.judging, *plan);
      ASSERT_TRUE(check.ok());
      EXPECT_EQ(check->staging_bytes, plan->staging_bytes.value_or(0));
      EXPECT_EQ(check->peak_bytes, plan->predicted_peak_bytes);
    }
  }
  EXPECT_GE(smaller, 4u);
}

TEST(Staging, IsWhatTheMemoryLeavesWhereThatIsLess) {
  const test::World world = Slow();
  PlanRequest request;
  request.target_us = 6e5;
  request.preload_bytes = 1'000'000;
  const auto free = MakePlan(world.input(), request);
  ASSERT_TRUE(free.ok());
  request.judging.memory_bytes = free->predicted_peak_bytes + 100'000;
  const auto roomy = MakePlan(world.input(), request);
  ASSERT_TRUE(roomy.ok()) << roomy.error().Message();
  EXPECT_LE(roomy->predicted_peak_bytes, *request.judging.memory_bytes);
  request.judging.memory_bytes = free->predicted_peak_bytes - 1'500'000;
  const auto tight = MakePlan(world.input(), request);
  ASSERT_TRUE(tight.ok()) << tight.error().Message();
  EXPECT_LE(tight->predicted_peak_bytes, *request.judging.memory_bytes);
  EXPECT_LE(tight->predicted_p99_us, 6e5);
}

TEST(Staging, ServesVariantsAndTurns) {
  const test::World world = SlowAtTwoLengths();
  PlanRequest request;
  request.target_us = 3e5;
  request.preload_bytes = 1'000'000;
  request.further_lengths = {32};
  const auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  ASSERT_EQ(plan->variants.size(), 1u);
  EXPECT_GE(plan->staging_bytes, plan->variants[0].staging_bytes);
  ASSERT_TRUE(plan->variants[0].times);
  EXPECT_EQ(plan->variants[0].times->layer_us, 4000.0 * plan->variants[0].width);
  EXPECT_EQ(plan->variants[0].times->last_layer_us, std::nullopt) << "the profile does not say";
  request.further_lengths.clear();
  request.mode = PlanRequest::Turns{3, 4'000'000};
  const auto turns = MakePlan(world.input(), request);
  ASSERT_TRUE(turns.ok()) << turns.error().Message();
  const auto device = DeviceModel::Make(world.profile, 128, Risk::kP99);
  for (const PlanTurn& turn : turns->turns) {
    const PlannedRun run = RunOf(world.checked(), *device, *turns, &turn);
    EXPECT_EQ(LatencyOf(run, turns->staging_bytes), turn.predicted_p99_us);
  }
  const uint64_t overhang = TurnOverhang(world.checked(), *device, *turns);
  EXPECT_EQ(turns->predicted_peak_bytes, BytesBeforeShards(world.memory(), turns->Extent()) +
                                             4'000'000 + overhang +
                                             turns->staging_bytes.value_or(0));
}

// One arena serves the plan and its variants, and it is no larger than the memory leaves beside the
// working memory of the longest input.
TEST(Staging, OfAVariantInLittleMemoryIsNoMoreThanThePlans) {
  const test::World world = SlowAtTwoLengths();
  PlanRequest request;
  request.target_us = 3e5;
  request.further_lengths = {32};
  const auto roomy = MakePlan(world.input(), request);
  ASSERT_TRUE(roomy.ok()) << roomy.error().Message();
  size_t bounded = 0;
  for (uint64_t less = 0; less < roomy->staging_bytes; less += 50 * kBlock) {
    request.judging.memory_bytes = roomy->predicted_peak_bytes - less;
    const auto plan = MakePlan(world.input(), request);
    if (!plan.ok()) continue;
    const PlanCore& variant = plan->variants[0];
    ASSERT_LE(variant.staging_bytes, plan->staging_bytes) << less;
    const auto device = DeviceModel::Make(world.profile, 32, Risk::kP99);
    EXPECT_EQ(LatencyOf(RunOf(world.checked(), *device, variant), plan->staging_bytes),
              variant.predicted_p99_us);
    EXPECT_LE(variant.predicted_p99_us, 3e5);
    bounded += plan->staging_bytes < roomy->staging_bytes ? 1 : 0;
  }
  EXPECT_GT(bounded, 3u);
}

// Turn 1 is the plan itself, and all turns have the arena that the plan says: what the memory
// leaves beside the turn that needs most of it.
TEST(Staging, TurnsInLittleMemoryCountOnThatOfThePlan) {
  test::World world(4, 1, {2, 4}, {10 * kBlock, 20 * kBlock});
  world.Compute(1, [](uint32_t) { return 100.0; });
  world.Io({100, 120});
  world.profile.read_bytes = kBlock;
  PlanRequest request;
  request.target_us = 1000;
  request.uniform_bits = 2;
  request.mode = PlanRequest::Turns{3, 20 * kBlock};
  const auto roomy = MakePlan(world.input(), request);
  ASSERT_TRUE(roomy.ok()) << roomy.error().Message();
  const auto device = DeviceModel::Make(world.profile, 128, Risk::kP99);
  size_t slower = 0;
  for (uint64_t less = 0; less < roomy->staging_bytes; less += kBlock) {
    request.judging.memory_bytes = roomy->predicted_peak_bytes - less;
    const auto plan = MakePlan(world.input(), request);
    if (!plan.ok()) continue;
    EXPECT_TRUE(plan->meets_target) << "a plan that is late is none";
    EXPECT_EQ(plan->turns[0].predicted_p99_us, plan->predicted_p99_us) << less;
    for (const PlanTurn& turn : plan->turns) {
      EXPECT_EQ(LatencyOf(RunOf(world.checked(), *device, *plan, &turn), plan->staging_bytes),
                turn.predicted_p99_us);
    }
    slower += plan->predicted_p99_us > roomy->predicted_p99_us ? 1 : 0;
  }
  EXPECT_GT(slower, 0u);
  // A plan that is too late with its turns in the same memory is refused.
  request.target_us = roomy->predicted_p99_us + 10;
  const auto late = MakePlan(world.input(), request);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().kind, ErrorKind::kInfeasible);
  EXPECT_NE(late.error().Message().find("turns the plan takes "), std::string::npos)
      << late.error().Message();
}

// A variant may need more staging than the plan: the arena serves both.
TEST(Staging, IsThatOfTheVariantWhichNeedsMost) {
  const test::World world = SlowAtTwoLengths();
  PlanRequest request;
  request.target_us = 3e5;
  request.further_lengths = {32};
  auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  const auto staging = [&](const Plan& one) {
    const auto verdict = CheckPlan(world.input(), Judging(), one);
    EXPECT_TRUE(verdict.ok()) << verdict.error().Message();
    return verdict.ok() ? verdict->staging_bytes : 0;
  };
  // An edit: the plan itself reads little, and nothing says what it may stage.
  std::ranges::fill(plan->bits.values(), 2U);
  plan->staging_bytes = plan->variants[0].staging_bytes = std::nullopt;
  Plan alone = *plan;
  alone.variants.clear();
  EXPECT_LT(staging(alone), staging(Plan{plan->variants[0]}));
  EXPECT_EQ(staging(*plan), staging(Plan{plan->variants[0]}));
}

TEST(Staging, OverhangIsWhatStaysAndIsRead) {
  test::World world(2, 2, {2, 4}, {4096, 8192});
  world.catalog.block_bytes = 0;
  world.Compute(1, [](uint32_t) { return 100.0; });
  world.profile.io = {{4096, 0, 10, 10}};
  const auto device = DeviceModel::Make(world.profile, 128, Risk::kMedian);
  Plan plan;
  plan.layers = {0, 1};
  plan.width = 2;
  plan.slices = {{0, 1}, {0, 1}};
  PlanTurn first;
  first.bits = {{2, 2}, {2, 2}};
  PlanTurn second;
  second.bits = {{4, 2}, {4, 4}};
  second.preload = {{0, 0, 2}, {0, 1, 2}};
  plan.turns = {first, second};
  // Planes of 0,0; nothing of 0,1; layer 1 is read through staging.
  EXPECT_EQ(TurnOverhang(world.checked(), *device, plan), 4096u);
  PlanTurn third = second;
  third.preload = {{0, 0, 4}, {0, 1, 2}, {1, 0, 4}};
  plan.turns.push_back(third);
  EXPECT_EQ(TurnOverhang(world.checked(), *device, plan), 4096u + 8192u) << "and 1,0, which stays";
}

TEST(PlanTimes, AreTheDevicesAndTheStallIsPlayed) {
  test::World world(2, 1, {2}, {4096});
  world.Compute(1, [](uint32_t) { return 100.0; });
  world.profile.compute[0].p99_us = 130;
  world.profile.compute[0].last_us = 40;
  world.profile.compute[0].last_p99_us = 45;
  world.Io({70});
  world.profile.fixed.push_back({128, 5, 10, 7, 0, 0, 0});
  PlanRequest request;
  request.submodel = {2, 1};
  for (const Strategy strategy : {Strategy::kSti, Strategy::kStiPaper, Strategy::kRandom,
                                  Strategy::kStdpl, Strategy::kLoadExec}) {
    request.strategy = strategy;
    request.uniform_bits = 2;
    const auto plan = MakePlan(world.input(), request);
    ASSERT_TRUE(plan.ok()) << plan.error().Message();
    ASSERT_TRUE(plan->times);
    const PlanTimes& times = *plan->times;
    EXPECT_EQ(times.start_us, 0);
    EXPECT_EQ(times.open_io_us, 0);
    EXPECT_EQ(times.embed_io_us, 10);
    EXPECT_EQ(times.embed_us, 5);
    EXPECT_EQ(times.layer_us, 100);
    EXPECT_EQ(times.layer_p99_us, 130);
    EXPECT_EQ(times.last_layer_us, 40);
    EXPECT_EQ(times.last_layer_p99_us, 45);
    EXPECT_EQ(times.head_us, 7);
    EXPECT_EQ(times.layer_io_us, (std::vector<double>{70, 70}));
    // Layer 0 starts at 80 instead of 5; layer 1's shard is there at 150, before it is needed.
    const bool serial = strategy == Strategy::kLoadExec;
    EXPECT_EQ(times.stall_us, serial ? 150 : 75) << NameOf(strategy);
    EXPECT_FALSE(plan->cold);
  }
}

}  // namespace
}  // namespace sti
