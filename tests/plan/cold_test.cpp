// Cold starts: everything that is loaded counts, in the order of need.
#include "plan/play/cold.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plan/judge.h"
#include "plan/planned_run.h"
#include "plan/timeline.h"
#include "support/expect.h"
#include "world.h"

namespace sti {
namespace {

using Kind = LaneSpan::Kind;

/// Reads take 1 us a block; a layer 100 us.
struct ColdWorld {
  test::World world{2, 1, {2, 4}, {40 * 4096, 80 * 4096}};
  ColdBytes bytes;

  ColdWorld() {
    world.Compute(1, [](uint32_t) { return 100.0; });
    world.profile.io = {{4096, 0, 1, 1}, {1000 * 4096, 0, 1000, 1000}};
    world.profile.fixed.push_back({128, 5, 10, 7, 0, 0, 0});
    world.profile.start_us = 1000;
    bytes = {16 * 4096, 50 * 4096, 4 * 4096, 300 * 4096, {20 * 4096, 30 * 4096}};
  }
  [[nodiscard]] PlanInput input() const {
    PlanInput input = world.input();
    input.importance = nullptr;
    input.cold = &bytes;
    return input;
  }
  [[nodiscard]] CheckedInput checked() const { return test::Checked(input()); }
};

PlanRequest Cold() {
  PlanRequest request;
  request.mode = PlanRequest::Cold{};
  return request;
}

TEST(Cold, IsPlayedAsByHand) {
  const ColdWorld cold;
  PlanRequest request = Cold();
  request.submodel = {2, 1};
  request.uniform_bits = 2;
  const auto plan = MakePlan(cold.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  // 1000 own work, 16 + 50 index and vocabulary: the tokens at 1066. Rows 10 and embedding 4: 1080,
  // embedded at 1085. Layer 0: 20 + 40, there at 1140, done at 1240. Layer 1: 30 + 40, there at
  // 1210, done at 1340. Head: 300, there at 1510; done at 1517.
  EXPECT_NEAR(plan->predicted_latency_us, 1517, 1e-9);
  EXPECT_TRUE(plan->cold);
  ASSERT_TRUE(plan->times);
  EXPECT_NEAR(plan->times->start_us, 1000, 1e-9);
  EXPECT_NEAR(plan->times->open_io_us, 66, 1e-9);
  EXPECT_NEAR(plan->times->embed_io_us, 14, 1e-9);
  EXPECT_NEAR(plan->times->layer_io_us[0], 60, 1e-9);
  EXPECT_NEAR(plan->times->layer_io_us[1], 70, 1e-9);
  // All but own work, 5, 200 and 7.
  EXPECT_NEAR(plan->times->stall_us, 517 - 212, 1e-9);
  EXPECT_EQ(plan->parameter_bytes, 80u * 4096) << "shards only";
  request.strategy = Strategy::kLoadExec;
  const auto serial = MakePlan(cold.input(), request);
  ASSERT_TRUE(serial.ok()) << serial.error().Message();
  EXPECT_NEAR(serial->predicted_latency_us, 1080 + 60 + 70 + 300 + 5 + 200 + 7, 1e-9);
}

TEST(Cold, PartsTakeStagingAsShardsDo) {
  ColdWorld cold;
  PlanRequest request = Cold();
  request.submodel = {2, 1};
  request.uniform_bits = 2;
  const auto plan = MakePlan(cold.input(), request);
  ASSERT_TRUE(plan.ok());
  // The head's 300 blocks are read while layer 1 computes, whose 70 are still there; layer 0's 60
  // are not: it is done at 1240, and to wait from 1210 until then would be late.
  const auto device = DeviceModel::Make(cold.world.profile, 128, Risk::kMedian);
  const PlannedRun run = RunOf(cold.checked(), *device, *plan);
  EXPECT_EQ(LatencyOf(run, 430 * 4096), plan->predicted_latency_us);
  EXPECT_NEAR(LatencyOf(run, 429 * 4096), plan->predicted_latency_us + 30, 1e-9);
  EXPECT_TRUE(std::isinf(LatencyOf(run, 299 * 4096)));
  EXPECT_EQ(plan->staging_bytes, 430u * 4096) << "all of it: no ring wastes more";
  request.judging.memory_bytes = plan->predicted_peak_bytes - 4096;
  const auto tight = MakePlan(cold.input(), request);
  ASSERT_TRUE(tight.ok()) << tight.error().Message();
  EXPECT_EQ(tight->staging_bytes, 429u * 4096);
  EXPECT_NEAR(tight->predicted_latency_us, plan->predicted_latency_us + 30, 1e-9);
  request.judging.memory_bytes = plan->predicted_peak_bytes - uint64_t{131} * 4096;
  EXPECT_EQ(MakePlan(cold.input(), request).error().kind, ErrorKind::kInfeasible);
}

TEST(Cold, HeadsThatAreSmallHideBehindTheLastLayer) {
  ColdWorld cold;
  cold.bytes.head = 60 * 4096;
  PlanRequest request = Cold();
  request.submodel = {2, 1};
  request.uniform_bits = 2;
  const auto plan = MakePlan(cold.input(), request);
  ASSERT_TRUE(plan.ok());
  EXPECT_NEAR(plan->predicted_latency_us, 1347, 1e-9);
}

TEST(Cold, TimelineNamesItsParts) {
  const ColdWorld cold;
  PlanRequest request = Cold();
  request.submodel = {2, 1};
  const auto plan = MakePlan(cold.input(), request);
  ASSERT_TRUE(plan.ok());
  const auto timeline = PlayPlan(cold.input(), Judging(), *plan);
  ASSERT_TRUE(timeline.ok()) << timeline.error().Message();
  EXPECT_EQ(timeline->latency_us, plan->predicted_latency_us);
  EXPECT_EQ(timeline->stall_us, plan->times->stall_us);
  std::vector<Kind> io;
  for (const PlanEvent& event : timeline->events) {
    if (IsIo(event.kind)) io.push_back(event.kind);
  }
  EXPECT_EQ(io, (std::vector<Kind>{Kind::kOpen, Kind::kRows, Kind::kResident, Kind::kLoad,
                                   Kind::kResident, Kind::kLoad, Kind::kResident}));
  EXPECT_NEAR(timeline->events[0].end_us, 1066, 1e-9);
  EXPECT_EQ(timeline->events[1].start_us, timeline->events[0].end_us);
}

TEST(Cold, EveryTargetThatCanBeMetIsMetAndNoOther) {
  test::Random random(91);
  size_t met = 0;
  size_t refused = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    const uint32_t depth = 1 + random.Below(4);
    ColdWorld cold;
    cold.world = test::World(depth, 2, {2}, {(1 + random.Below(40)) * 4096});
    const double layer_us = 1 + random.Below(90);
    cold.world.Compute(1, [&](uint32_t m) { return layer_us * m; });
    if (random.Below(2) == 0) cold.world.Last(2, 1 + random.Below(120));
    cold.world.profile.io = {{4096, 0, 1, 1}, {1000 * 4096, 0, 1000, 1000}};
    // Budgets count the embedding's compute as if it were at the end, so it is 0 here.
    cold.world.profile.fixed.push_back({128, 0, 1.0 * random.Below(20), 3, 0, 0, 0});
    cold.world.profile.start_us = random.Below(50);
    cold.bytes = {4096 * random.Below(20),
                  4096 * random.Below(20),
                  4096 * random.Below(9),
                  4096 * random.Below(150),
                  {}};
    for (uint32_t k = 0; k < depth; ++k) cold.bytes.layers.push_back(4096 * random.Below(30));
    PlanRequest request = Cold();
    request.submodel = {depth, 2};
    const auto any = MakePlan(cold.input(), request);
    ASSERT_TRUE(any.ok()) << any.error().Message();
    for (const double more_us : {-1.0, 0.0, 1.0}) {
      request.target_us = any->predicted_latency_us + more_us;
      const auto plan = MakePlan(cold.input(), request);
      ASSERT_EQ(plan.ok(), more_us >= 0) << trial << (plan.ok() ? "" : plan.error().Message());
      if (!plan.ok()) {
        EXPECT_EQ(plan.error().kind, ErrorKind::kInfeasible);
        EXPECT_EQ(plan.error().Message().find("preload"), std::string::npos);
        ++refused;
        continue;
      }
      ++met;
      EXPECT_TRUE(plan->meets_target);
      const auto check = CheckPlan(cold.input(), Judging(), *plan);
      ASSERT_TRUE(check.ok() && check->valid);
      EXPECT_EQ(check->aib_us, plan->aib_us);
    }
  }
  EXPECT_EQ(met, 3000u);
  EXPECT_EQ(refused, 1500u);
}

/// A world of the paper's size whose reads are known by bytes.
test::World ByBytes() {
  test::World world = test::Odroid();
  world.profile.io.clear();
  for (const uint64_t bytes : {150'000, 225'000, 300'000, 375'000, 450'000, 2'360'000}) {
    const double load_us = 100 + static_cast<double>(bytes) / 100;
    world.profile.io.push_back({bytes, 0, load_us, 1.2 * load_us});
  }
  world.profile.fixed.push_back({128, 900, 2500, 700, 0, 0, 0});
  return world;
}

TEST(Cold, PlansMeetTheirTargetsAndCheckTheSame) {
  const test::World world = ByBytes();
  ColdBytes bytes{65536, 262144, 20480, 2'400'000, std::vector<uint64_t>(12, 40960)};
  DeviceProfile profile = world.profile;
  profile.start_us = 15000;
  PlanInput input{world.info, world.catalog, profile, nullptr, world.input().model, {}, {}};
  input.cold = &bytes;
  for (const Strategy strategy : {Strategy::kSti, Strategy::kStiPaper, Strategy::kRandom,
                                  Strategy::kStdpl, Strategy::kLoadExec}) {
    for (const double target_us : {3e5, 6e5, 1.5e6}) {
      PlanRequest request = Cold();
      request.strategy = strategy;
      request.target_us = target_us;
      const auto plan = MakePlan(input, request);
      if (!plan.ok()) {
        EXPECT_NE(strategy, Strategy::kSti) << plan.error().Message();
        continue;
      }
      if (strategy == Strategy::kSti) {
        EXPECT_TRUE(plan->meets_target);
        EXPECT_LE(plan->predicted_p99_us, target_us);
      }
      const auto check = CheckPlan(input, Judging(), *plan);
      ASSERT_TRUE(check.ok()) << check.error().Message();
      EXPECT_EQ(check->latency_us, plan->predicted_latency_us);
      EXPECT_EQ(check->p99_us, plan->predicted_p99_us);
      EXPECT_EQ(check->staging_bytes, plan->staging_bytes.value_or(0));
      // The same plan by a warm process is faster.
      Plan warm = *plan;
      warm.cold = false;
      EXPECT_LT(CheckPlan(input, Judging(), warm)->latency_us, plan->predicted_latency_us);
    }
  }
}

TEST(Cold, WithNothingToLoadIsAWarmPlan) {
  const test::World world = ByBytes();
  const ColdBytes nothing{0, 0, 0, 0, std::vector<uint64_t>(12, 0)};
  PlanInput input = world.input();
  input.cold = &nothing;
  for (const Strategy strategy : {Strategy::kSti, Strategy::kStiPaper, Strategy::kRandom,
                                  Strategy::kStdpl, Strategy::kLoadExec}) {
    for (const double target_us : {3e5, 6e5, 1e6}) {
      PlanRequest request;
      request.strategy = strategy;
      request.target_us = target_us;
      const auto warm = MakePlan(input, request);
      request.mode = PlanRequest::Cold{};
      const auto cold = MakePlan(input, request);
      ASSERT_EQ(warm.ok(), cold.ok()) << NameOf(strategy);
      if (!warm.ok()) continue;
      EXPECT_EQ(warm->bits, cold->bits);
      EXPECT_EQ(warm->aib_us, cold->aib_us);
      EXPECT_EQ(warm->predicted_latency_us, cold->predicted_latency_us);
      EXPECT_EQ(warm->predicted_p99_us, cold->predicted_p99_us);
      EXPECT_EQ(warm->predicted_peak_bytes, cold->predicted_peak_bytes);
      EXPECT_EQ(warm->staging_bytes, cold->staging_bytes);
      EXPECT_EQ(warm->times->layer_io_us, cold->times->layer_io_us);
      EXPECT_EQ(warm->times->stall_us, cold->times->stall_us);
      EXPECT_FALSE(warm->cold);
      EXPECT_TRUE(cold->cold);
    }
  }
}

// A cold start preloads nothing: no buffer is offered instead of a longer target, with which shards
// would be in time.
TEST(Cold, WhatCannotBeMetAsksForTimeAlone) {
  const ColdWorld cold;
  PlanRequest request = Cold();
  request.target_us = 1420;
  const auto plan = MakePlan(cold.input(), request);
  ASSERT_TRUE(FailedWith(plan, ErrorKind::kInfeasible, "no plan meets 1.420 ms"));
  EXPECT_EQ(plan.error().value, "target_us");
  EXPECT_EQ(plan.error().what.find("preload"), std::string::npos) << plan.error().what;
}

TEST(Cold, VariantsStartColdToo) {
  ColdWorld cold;
  cold.world.profile.compute.push_back({32, 1, 30, 30, 0});
  cold.world.profile.fixed.push_back({32, 2, 5, 7, 0, 0, 0});
  PlanRequest request = Cold();
  request.target_us = 2000;
  request.further_lengths = {32};
  const auto plan = MakePlan(cold.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  ASSERT_EQ(plan->variants.size(), 1u);
  EXPECT_TRUE(plan->variants[0].cold);
  EXPECT_GT(plan->variants[0].predicted_latency_us, 1000);
}

TEST(Cold, WhatMakesNoSenseIsRefused) {
  const ColdWorld cold;
  const auto refused = [&](const PlanInput& input, const std::function<void(PlanRequest&)>& spoil) {
    PlanRequest request = Cold();
    request.target_us = 5000;
    spoil(request);
    const auto plan = MakePlan(input, request);
    return !plan.ok() && plan.error().kind == ErrorKind::kUsage;
  };
  EXPECT_FALSE(refused(cold.input(), [](PlanRequest&) {}));
  EXPECT_TRUE(refused(cold.input(), [](PlanRequest& r) { r.preload_bytes = 4096; }));
  EXPECT_TRUE(refused(cold.input(), [](PlanRequest& r) { r.wake_us = 1; }));
  EXPECT_TRUE(refused(cold.input(), [](PlanRequest& r) { r.strategy = Strategy::kPreload; }));
  EXPECT_TRUE(refused(cold.world.input(), [](PlanRequest&) {})) << "sizes are not known";
  ColdWorld by_bits;
  by_bits.world.profile.io.clear();
  by_bits.world.Io({40, 80});
  EXPECT_TRUE(refused(by_bits.input(), [](PlanRequest&) {})) << "no times by bytes";
  PlanRequest request = Cold();
  request.submodel = {2, 1};
  const auto plan = MakePlan(cold.input(), request);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(CheckPlan(cold.world.input(), Judging(), *plan).error().kind, ErrorKind::kUsage);
  Plan mixed = *plan;
  mixed.variants = {*plan};
  mixed.variants[0].cold = false;
  EXPECT_EQ(CheckPlan(cold.input(), Judging(), mixed).error().kind, ErrorKind::kDamaged);
}

}  // namespace
}  // namespace sti
