// Tests of what may be asked of the planner beside a target: accuracy, lead time, lengths, clocks;
// and of infeasible requests.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/remedy.h"
#include "plan/judge.h"
#include "plan/planner.h"
#include "world.h"

namespace sti {
namespace {

/// 4 x 4 on a device where IO binds, with A(n, m) measured.
test::World Measured() {
  test::World world(4, 4, {2, 3, 4, 5, 6, 32}, {100, 150, 200, 250, 300, 800});
  world.Compute(1, [](uint32_t m) { return 100.0 + 20 * m; });
  world.Io({20, 30, 40, 50, 60, 160});
  world.profile.fixed = {{128, 10, 20, 5}};
  world.MeasureSubmodels();
  return world;
}

PlanRequest Within(double target_us) {
  PlanRequest request;
  request.target_us = target_us;
  return request;
}

TEST(Requests, MeasuredLossDecidesAndIsReported) {
  const test::World world = Measured();
  const auto plan = MakePlan(world.input(), Within(600));
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  ASSERT_TRUE(plan->quality.loss && plan->quality.accuracy);
  // No submodel, planned alone, is predicted to lose less.
  for (uint32_t n = 1; n <= 4; ++n) {
    for (uint32_t m = 1; m <= 4; ++m) {
      PlanRequest request = Within(600);
      request.submodel = {n, m};
      const auto other = MakePlan(world.input(), request);
      if (!other.ok()) continue;
      EXPECT_GE(*other->quality.loss, *plan->quality.loss - 1e-9);
    }
  }
  const auto check = CheckPlan(world.input(), Judging(), *plan);
  EXPECT_EQ(check->quality.loss, plan->quality.loss);
  EXPECT_EQ(check->quality.accuracy, plan->quality.accuracy);
}

TEST(Requests, PredictionsMeetTheMeasuredEnds) {
  const test::World world = Measured();
  for (const auto& [bits, loss, accuracy] :
       {std::tuple(2u, 1.2 / 2, 0.5 + 0.1 * 2), std::tuple(32u, 1.0 / 2, 0.6 + 0.12 * 2)}) {
    PlanRequest request;
    request.submodel = {2, 4};  // size 2
    request.uniform_bits = bits;
    const auto plan = MakePlan(world.input(), request);
    ASSERT_TRUE(plan.ok());
    EXPECT_NEAR(*plan->quality.loss, loss, 1e-9);
    EXPECT_NEAR(*plan->quality.accuracy, accuracy, 1e-9);
  }
}

TEST(Requests, MinAccuracyTakesTheLeastTarget) {
  const test::World world = Measured();
  double last_us = 0;
  for (double accuracy : {0.70, 0.75, 0.80, 0.90}) {
    PlanRequest request;
    request.min_accuracy = accuracy;
    const auto plan = MakePlan(world.input(), request);
    ASSERT_TRUE(plan.ok()) << plan.error().Message();
    EXPECT_GE(*plan->quality.accuracy, accuracy);
    EXPECT_TRUE(plan->meets_target);
    EXPECT_GE(*plan->target_us, last_us);
    last_us = *plan->target_us;
    const auto faster = MakePlan(world.input(), Within(0.99 * last_us));
    if (!faster.ok()) continue;
    EXPECT_LT(*faster->quality.accuracy, accuracy);
  }
  PlanRequest request = Within(5000);
  request.min_accuracy = 0.75;
  const auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(*plan->target_us, 5000);
  EXPECT_LT(plan->predicted_p99_us, 1000);
}

TEST(Requests, MinAccuracyGoesWithALeadTimeAndWithTurns) {
  const test::World world = Measured();
  PlanRequest request;
  request.min_accuracy = 0.75;
  const auto alone = MakePlan(world.input(), request);
  request.wake_us = 100;
  const auto woken = MakePlan(world.input(), request);
  ASSERT_TRUE(alone.ok() && woken.ok()) << woken.error().Message();
  EXPECT_GE(*woken->quality.accuracy, 0.75);
  EXPECT_LT(*woken->target_us, *alone->target_us) << "what is read before needs no time";
  request.mode = PlanRequest::Turns{2};
  const auto turns = MakePlan(world.input(), request);
  ASSERT_TRUE(turns.ok()) << turns.error().Message();
  EXPECT_EQ(turns->turns.size(), 2U);
}

TEST(Requests, AccuracyOutOfReach) {
  test::World world = Measured();
  PlanRequest request = Within(300);
  request.min_accuracy = 0.84;
  auto plan = MakePlan(world.input(), request);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().kind, ErrorKind::kInfeasible);
  EXPECT_NE(plan.error().Message().find("the best is predicted to have 0."), std::string::npos);
  world.importance.submodels.clear();
  plan = MakePlan(world.input(), request);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().kind, ErrorKind::kUsage);
}

TEST(Requests, LeadTimeIsIoBudget) {
  const test::World world = Measured();
  PlanRequest request = Within(700);
  request.submodel = {3, 4};
  const auto before = MakePlan(world.input(), request);
  request.wake_us = 200;
  const auto after = MakePlan(world.input(), request);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_GT(after->parameter_bytes, before->parameter_bytes);
  EXPECT_LT(*after->quality.loss, *before->quality.loss);
  EXPECT_EQ(after->wake_us, 200);
  EXPECT_LE(after->predicted_p99_us, 700);
  const auto check = CheckPlan(world.input(), Judging(), *after);
  EXPECT_TRUE(check->valid) << check->problem;
  EXPECT_EQ(check->aib_us, after->aib_us);
  // The rows of the text cannot be read ahead.
  request.target_us = 3 * 180 + 15 + 19;
  request.wake_us = 1e6;
  const auto late = MakePlan(world.input(), request);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().kind, ErrorKind::kInfeasible);
  EXPECT_EQ(late.error().value, "target_us, since no preload is enough");
}

TEST(Requests, VariantsShareTheBuffer) {
  test::World world = Measured();
  for (uint32_t m = 1; m <= 4; ++m)
    world.profile.compute.push_back({32, m, 30.0 + 5 * m, 30.0 + 5 * m, 0});
  world.profile.fixed.push_back({32, 3, 6, 2});
  PlanRequest request = Within(500);
  request.length = 128;
  request.further_lengths = {32, 64, 128};
  request.preload_bytes = 700;
  const auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_EQ(plan->length, 128u);
  ASSERT_EQ(plan->variants.size(), 2u);
  EXPECT_EQ(plan->variants[0].length, 64u);
  EXPECT_EQ(plan->variants[1].length, 32u);
  // 64 tokens are planned as 128 are; 32 compute faster and have a better submodel.
  EXPECT_EQ(plan->variants[0].bits, plan->bits);
  EXPECT_LT(*plan->variants[1].quality.loss, *plan->quality.loss);
  for (const PlanCore& variant : plan->variants) {
    EXPECT_TRUE(variant.meets_target);
    for (const ShardAtBits& shard : variant.preload) {
      EXPECT_NE(std::find(plan->preload.begin(), plan->preload.end(), shard), plan->preload.end());
    }
    // A shard that the buffer holds and the variant runs is run from the buffer.
    for (const ShardAtBits& shard : plan->preload) {
      const auto found = std::find(variant.layers.begin(), variant.layers.end(), shard.id.layer);
      if (found == variant.layers.end() || shard.id.slice >= variant.width) continue;
      EXPECT_NE(std::find(variant.preload.begin(), variant.preload.end(), shard),
                variant.preload.end());
    }
    const auto check = CheckPlan(world.input(), Judging(), Plan{variant});
    ASSERT_TRUE(check.ok() && check->valid);
    EXPECT_EQ(check->p99_us, variant.predicted_p99_us);
  }
}

TEST(Requests, PeakCountsVariantsAndTurns) {
  test::World world = Measured();
  for (uint32_t m = 1; m <= 4; ++m)
    world.profile.compute.push_back({32, m, 30.0 + 5 * m, 30.0 + 5 * m, 0});
  world.profile.fixed.push_back({32, 3, 6, 2});
  PlanRequest request = Within(500);
  request.length = 128;
  const auto alone = MakePlan(world.input(), request);
  request.further_lengths = {32};
  const auto both = MakePlan(world.input(), request);
  ASSERT_TRUE(alone.ok() && both.ok());
  EXPECT_EQ(both->bits, alone->bits);
  EXPECT_GT(both->predicted_peak_bytes, alone->predicted_peak_bytes);
  EXPECT_GE(both->predicted_peak_bytes, both->variants[0].predicted_peak_bytes);
  request.judging.memory_bytes = both->predicted_peak_bytes;
  EXPECT_TRUE(MakePlan(world.input(), request).ok());
  request.further_lengths.clear();
  request.judging.memory_bytes.reset();
  request.mode = PlanRequest::Turns{2, 1000000};
  const auto turns = MakePlan(world.input(), request);
  ASSERT_TRUE(turns.ok());
  // All stays in memory, and the planes that the second turn reads come on top.
  EXPECT_GT(turns->turns[1].read_bytes, 0u);
  EXPECT_EQ(turns->predicted_peak_bytes,
            alone->predicted_peak_bytes + 1000000 + turns->turns[1].read_bytes);
  request.judging.memory_bytes = alone->predicted_peak_bytes + 10000;
  const auto over = MakePlan(world.input(), request);
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().kind, ErrorKind::kInfeasible) << over.error().Message();
}

/// A world whose layers and fixed times are profiled at 32, 64 and 128 tokens.
test::World OfThreeLengths() {
  test::World world = Measured();
  for (const uint32_t length : {64, 32}) {
    for (uint32_t m = 1; m <= 4; ++m) {
      const double layer_us = (100.0 + 20 * m) * length / 128;
      world.profile.compute.push_back({length, m, layer_us, layer_us, 0});
    }
    world.profile.fixed.push_back({length, 10.0 * length / 128, 20.0 * length / 128, 5});
  }
  return world;
}

std::vector<uint32_t> LengthsOf(const Plan& plan) {
  std::vector<uint32_t> lengths = {plan.length};
  for (const PlanCore& variant : plan.variants) lengths.push_back(variant.length);
  return lengths;
}

TEST(Requests, WithoutALengthEachThatIsProfiledIsPlanned) {
  test::World world = OfThreeLengths();
  PlanRequest request = Within(500);
  const auto all = MakePlan(world.input(), request);
  ASSERT_TRUE(all.ok()) << all.error().Message();
  EXPECT_EQ(LengthsOf(*all), (std::vector<uint32_t>{128, 64, 32}));
  EXPECT_LT(*all->variants[1].quality.loss, *all->quality.loss);
  // As if they were asked for by name.
  request.length = 128;
  request.further_lengths = {32, 64};
  const auto named = MakePlan(world.input(), request);
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(all->bits, named->bits);
  ASSERT_EQ(LengthsOf(*named), LengthsOf(*all));
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(all->variants[i].bits, named->variants[i].bits);
  request.further_lengths.clear();
  EXPECT_EQ(LengthsOf(*MakePlan(world.input(), request)), (std::vector<uint32_t>{128}));
  // A model of fewer positions has its longest input in place of those that are longer.
  world.info.shape.max_positions = 48;
  EXPECT_EQ(LengthsOf(*MakePlan(world.input(), Within(500))), (std::vector<uint32_t>{48, 32}));
}

TEST(Requests, WithoutALengthOtherPlansAreForTheLongest) {
  const test::World world = OfThreeLengths();
  for (const Strategy strategy : {Strategy::kStiPaper, Strategy::kLoadExec, Strategy::kStdpl,
                                  Strategy::kPreload, Strategy::kRandom}) {
    PlanRequest request = Within(5000);
    request.strategy = strategy;
    const auto plan = MakePlan(world.input(), request);
    ASSERT_TRUE(plan.ok()) << plan.error().Message();
    EXPECT_EQ(LengthsOf(*plan), (std::vector<uint32_t>{128}));
  }
  PlanRequest request = Within(5000);
  request.io_budget_bytes = 100;
  EXPECT_EQ(LengthsOf(*MakePlan(world.input(), request)), (std::vector<uint32_t>{128}));
}

TEST(Requests, ALengthThatNobodyAskedForIsLeftOutWhereItHasNoPlan) {
  test::World world = OfThreeLengths();
  std::erase_if(world.profile.compute,
                [](const ComputeSample& s) { return s.length == 64 && s.width == 2; });
  std::vector<std::string> reasons;
  const auto plan = MakePlan(world.input(), Within(500), &reasons);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_EQ(LengthsOf(*plan), (std::vector<uint32_t>{128, 32}));
  EXPECT_TRUE(std::any_of(reasons.begin(), reasons.end(), [](const std::string& reason) {
    return reason.starts_with("no variant of 64 tokens: ");
  }));
  PlanRequest request = Within(500);
  request.length = 128;
  request.further_lengths = {64};
  EXPECT_FALSE(MakePlan(world.input(), request).ok());
}

TEST(Requests, VariantsThatNobodyAskedForStayWithinMemory) {
  const test::World world = OfThreeLengths();
  PlanRequest request = Within(500);
  const auto all = MakePlan(world.input(), request);
  request.length = 128;
  const auto alone = MakePlan(world.input(), request);
  ASSERT_TRUE(all.ok() && alone.ok());
  request.length = 0;
  for (uint64_t bytes = alone->predicted_peak_bytes; bytes <= all->predicted_peak_bytes;
       bytes += 500) {
    request.judging.memory_bytes = bytes;
    const auto plan = MakePlan(world.input(), request);
    ASSERT_TRUE(plan.ok()) << bytes << ": " << plan.error().Message();
    EXPECT_LE(plan->predicted_peak_bytes, bytes);
    for (const PlanCore& variant : plan->variants) EXPECT_TRUE(variant.meets_target);
  }
}

TEST(Requests, ClocksAreVariants) {
  test::World world = Measured();
  world.profile.compute.clear();
  for (uint32_t m = 1; m <= 4; ++m) {
    world.profile.compute.push_back({128, m, 60.0 + 10 * m, 60.0 + 10 * m, 2000000});
    world.profile.compute.push_back({128, m, 120.0 + 20 * m, 120.0 + 20 * m, 1000000});
  }
  PlanRequest request = Within(450);
  request.clocks = {2000000, 1000000};
  const auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  ASSERT_EQ(plan->variants.size(), 1u);
  EXPECT_EQ(plan->freq, 2000000u);
  EXPECT_EQ(plan->variants[0].freq, 1000000u);
  EXPECT_EQ(plan->variants[0].length, plan->length);
  EXPECT_LT(*plan->quality.loss, *plan->variants[0].quality.loss);
  request.clocks = {500000};
  EXPECT_EQ(MakePlan(world.input(), request).error().kind, ErrorKind::kUsage);
}

TEST(Requests, HolesInWidthsAreRefusedByNameUnlessInterpolated) {
  test::World world = Measured();
  std::erase_if(world.profile.compute, [](const ComputeSample& s) { return s.width == 2; });
  PlanRequest request = Within(600);
  auto plan = MakePlan(world.input(), request);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().kind, ErrorKind::kDamaged);
  EXPECT_NE(plan.error().Message().find("no width 2 at length 128"), std::string::npos);
  request.judging.interpolate = true;
  EXPECT_TRUE(MakePlan(world.input(), request).ok());
  // Measured with --widths: the others are not planned, and an explicit wish for one is refused.
  request.judging.interpolate = false;
  world.profile.provenance = Provenance::kMeasured;
  plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_NE(plan->width, 2u);
  request.submodel = {2, 2};
  plan = MakePlan(world.input(), request);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().Message().find("no compute time for width 2"), std::string::npos);
}

/// The number after `words` in a message.
double After(const std::string& message, const std::string& words) {
  const size_t at = message.find(words);
  return at == std::string::npos ? -1 : std::stod(message.substr(at + words.size()));
}

TEST(Requests, SmallestPreloadIsTheSmallest) {
  test::Random random(61);
  int priced = 0;
  for (int trial = 0; trial < 400; ++trial) {
    test::World world = Measured();
    const double layer_us = 1 + random.Below(60);
    for (ComputeSample& sample : world.profile.compute) sample.layer_us = sample.p99_us = layer_us;
    PlanRequest request = Within(36 + random.Below(160));
    request.width_min = 1 + random.Below(4);
    auto plan = MakePlan(world.input(), request);
    if (plan.ok()) continue;
    const double bytes = After(plan.error().value, "preload_bytes to ");
    if (bytes < 0) continue;
    ++priced;
    request.preload_bytes = static_cast<uint64_t>(bytes);
    EXPECT_TRUE(MakePlan(world.input(), request).ok()) << trial;
    request.preload_bytes -= 1;
    EXPECT_FALSE(MakePlan(world.input(), request).ok()) << trial;
  }
  EXPECT_GT(priced, 50);
}

TEST(Requests, ThatMakeNoSense) {
  const test::World world = Measured();
  const auto refused = [&](const std::function<void(PlanRequest&)>& spoil) {
    PlanRequest request = Within(600);
    spoil(request);
    const auto plan = MakePlan(world.input(), request);
    return !plan.ok() && plan.error().kind == ErrorKind::kUsage;
  };
  EXPECT_FALSE(refused([](PlanRequest&) {}));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.wake_us = -1; }));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.wake_us = std::nan(""); }));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.mode = PlanRequest::Turns{65}; }));
  EXPECT_TRUE(refused([](PlanRequest& r) {
    r.preload_bytes = 100;
    r.mode = PlanRequest::Turns{2, 99};
  }));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.mode = PlanRequest::Turns{0}; }));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.further_lengths.assign(70, 128); }));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.min_accuracy = 1.5; }));
  EXPECT_TRUE(refused([](PlanRequest& r) {
    r.min_accuracy = 0.5;
    r.strategy = Strategy::kStdpl;
  }));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.further_lengths = {1024}; }));
  for (const Strategy baseline : {Strategy::kLoadExec, Strategy::kStdpl, Strategy::kPreload}) {
    EXPECT_TRUE(refused([&](PlanRequest& r) {
      r.strategy = baseline;
      r.mode = PlanRequest::Turns{2};
    }));
    EXPECT_TRUE(refused([&](PlanRequest& r) {
      r.strategy = baseline;
      r.wake_us = 1;
    }));
  }
  EXPECT_TRUE(refused([](PlanRequest& r) {
    r.strategy = Strategy::kPreload;
    r.further_lengths = {64};
  }));
}

TEST(Requests, RefusalsNameTheFieldAndSayWhatItIs) {
  const test::World world = Measured();
  struct Refusal {
    std::function<void(PlanRequest&)> change;
    const char* what;
    Remedy remedy;
    const char* fields;
  };
  const std::vector<Refusal> refusals = {
      {[](PlanRequest& r) { r.target_us = 0; }, "the target is not a positive time",
       Remedy::kGiveInRequest, "target_us 200ms"},
      {[](PlanRequest& r) { r.similar = 1; },
       "the share of shards that still counts as similar is not below 100%", Remedy::kGiveInRequest,
       "similar 20%"},
      {[](PlanRequest& r) { r.wake_us = -1; }, "the lead time is not a time",
       Remedy::kGiveInRequest, "wake_us 50ms"},
      {[](PlanRequest& r) {
         r.preload_bytes = 100;
         r.mode = PlanRequest::Turns{2, 99};
       },
       "the buffer between turns is smaller than the preload buffer", Remedy::kRaiseInRequest,
       "turn_bytes"},
      {[](PlanRequest& r) { r.min_accuracy = -0.1; }, "the accuracy is not from 0 to 1",
       Remedy::kGiveInRequest, "min_accuracy 0.9"},
  };
  for (const Refusal& refusal : refusals) {
    PlanRequest request = Within(600);
    refusal.change(request);
    const auto plan = MakePlan(world.input(), request);
    ASSERT_FALSE(plan.ok()) << refusal.what;
    EXPECT_EQ(plan.error().kind, ErrorKind::kUsage);
    EXPECT_EQ(plan.error().what, refusal.what);
    EXPECT_EQ(plan.error().remedy, refusal.remedy);
    EXPECT_EQ(plan.error().value, refusal.fields);
  }
}

TEST(Requests, ALeastAccuracyOf0IsOneThatEveryPlanHas) {
  const test::World world = Measured();
  PlanRequest request = Within(600);
  request.min_accuracy = 0;
  const auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
}

}  // namespace
}  // namespace sti
