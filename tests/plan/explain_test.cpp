// A plan explained line by line: people read that, and no other test does.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/planner.h"
#include "world.h"

namespace sti {
namespace {

using test::RequestFor;

using Lines = std::vector<std::string>;

/// A model of 2 x 2 shards whose submodels were measured.
test::World Explainable() {
  test::World world(2, 2, {2, 3, 6, 32}, {100, 150, 300, 900});
  world.Compute(1, [](uint32_t m) { return 1000.0 + 200 * m; });
  world.Io({200, 300, 600, 1800});
  world.profile.fixed = {{128, 100, 200, 50}};
  world.use_importance = true;
  world.importance.layers = world.importance.width = 2;
  world.importance.scores = {1, 4, 2, 3};
  for (uint32_t n = 1; n <= 2; ++n) {
    for (uint32_t m = 1; m <= 2; ++m) {
      world.importance.submodels.push_back({n, m, 2, 0.5 + 0.1 * n + 0.05 * m, 2.0 / (n + m)});
      world.importance.submodels.push_back({n, m, 6, 0.6 + 0.1 * n + 0.05 * m, 1.0 / (n + m)});
    }
  }
  return world;
}

/// Expects the explanation of a plan to be the line on the profile's times and these.
void ExpectExplained(const test::World& world, const PlanRequest& request, const Lines& lines) {
  Lines expected = {
      "times: p99 at length 128 for 128 tokens; T_fixed 0.150 ms, embedding rows 0.200 ms of IO"};
  expected.insert(expected.end(), lines.begin(), lines.end());
  Lines explain;
  const auto plan = MakePlan(world.input(), request, &explain);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_EQ(explain, expected);
}

TEST(Explain, AJointChoice) {
  ExpectExplained(
      Explainable(), RequestFor(2500),
      {"compute planning: 2 of 4 submodels compute within 2.500 ms; 1x2 takes 1.550 ms, slack "
       "0.950 ms",
       "value: A(n, m) of the importance file",
       "joint choice: 1x2 reaches a loss of 0.4287, none of its bits less than 0.3947",
       "joint choice: 1x2 is taken; of 2 submodels that compute in time 1 could be best, 1 were "
       "searched in full",
       "next better: 2x2, needs a target of 3.550ms, at the fewest bits",
       "preload: 0 shards, 0 of 0 bytes",
       "prediction: 2.250 ms median, 2.250 ms p99, peak 803116 bytes, accuracy 0.7714"});
}

TEST(Explain, RaisesAndTurnsOfAPlanThatIsReadAhead) {
  PlanRequest request = RequestFor(3600);
  request.preload_bytes = 250;
  request.wake_us = 150;
  request.mode = PlanRequest::Turns{2, 450};
  Lines explain;
  const auto plan = MakePlan(Explainable().input(), request, &explain);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_EQ(
      explain,
      (Lines{
          "times: p99 at length 128 for 128 tokens; T_fixed 0.150 ms, embedding rows 0.200 ms of "
          "IO, woken 0.150 ms ahead",
          "compute planning: 4 of 4 submodels compute within 3.600 ms; 2x2 takes 2.950 ms, slack "
          "0.650 ms",
          "value: A(n, m) of the importance file",
          "joint choice: 2x2 reaches a loss of 0.2620, none of its bits less than 0.2534",
          "joint choice: 2x2 is taken; of 4 submodels that compute in time 1 could be best, 1 "
          "were searched in full",
          "single raise: layer 0 slice 1 from 3 to 6 bits, 0.300 ms more IO",
          "single raise: layer 1 slice 1 from 3 to 6 bits, 0.300 ms more IO",
          "single raise: layer 1 slice 0 from 3 to 6 bits, 0.300 ms more IO",
          "next better: none, no submodel that is worth more is out of reach",
          "preload: 1 shard, 150 of 250 bytes",
          "prediction: 3.500 ms median, 3.500 ms p99, peak 803866 bytes, accuracy 0.8952",
          "turn 2: begins with 2 shards in memory, 450 bytes, and reads 600"}));
}

TEST(Explain, ThePapersTwoSteps) {
  PlanRequest request = RequestFor(3400, Strategy::kStiPaper);
  request.preload_bytes = 300;
  ExpectExplained(
      Explainable(), request,
      {"compute planning: 4 of 4 submodels compute within 3.400 ms; 2x2 takes 2.950 ms, slack "
       "0.450 ms",
       "uniform bits: 2x2 holds 3 bits uniform",
       "single raise: layer 1 slice 1 from 3 to 6 bits, 0.300 ms more IO",
       "single raise: layer 1 slice 0 from 3 to 6 bits, 0.300 ms more IO",
       "next better: none, no submodel that is worth more is out of reach",
       "preload: 2 shards, 300 of 300 bytes",
       "prediction: 3.150 ms median, 3.150 ms p99, peak 803716 bytes, accuracy 0.8850"});
}

TEST(Explain, APaperPlanThatIsLate) {
  ExpectExplained(
      Explainable(), RequestFor(1700, Strategy::kStiPaper),
      {"compute planning: 2 of 4 submodels compute within 1.700 ms; 1x2 takes 1.550 ms, slack "
       "0.150 ms",
       "uniform bits: 1x2 does not hold the fewest bits",
       "target missed: all shards at the fewest bits, as the paper has it",
       "preload: 0 shards, 0 of 0 bytes",
       "prediction: 2.050 ms median, 2.050 ms p99, peak 803016 bytes, accuracy 0.7000; misses: "
       "takes 2.050 ms of 1.700 ms"});
}

TEST(Explain, AnIoBudget) {
  PlanRequest request = RequestFor(4000);
  request.io_budget_bytes = 700;
  ExpectExplained(
      Explainable(), request,
      {"compute planning: 4 of 4 submodels compute within 4.000 ms; 2x2 takes 2.950 ms, slack "
       "1.050 ms",
       "IO budget: 3 of 4 shards at 6 bits, the rest at 2; 100 bytes unspent",
       "preload: 0 shards, 0 of 0 bytes",
       "prediction: 3.850 ms median, 3.850 ms p99, peak 803816 bytes, accuracy 0.8863"});
}

TEST(Explain, UniformBits) {
  PlanRequest request = RequestFor(4000);
  request.uniform_bits = 3;
  ExpectExplained(
      Explainable(), request,
      {"compute planning: 4 of 4 submodels compute within 4.000 ms; 2x2 takes 2.950 ms, slack "
       "1.050 ms",
       "uniform: 2x2 at 3 bits",
       "next better: none, no submodel that is worth more is out of reach",
       "preload: 0 shards, 0 of 0 bytes",
       "prediction: 3.650 ms median, 3.650 ms p99, peak 803416 bytes, accuracy 0.8714"});
}

TEST(Explain, AStrategyOfFixedBits) {
  ExpectExplained(
      Explainable(), RequestFor(9000, Strategy::kLoadExec),
      {"load-exec: 3 of 4 submodels fit at 32 bits; 2x1 is taken",
       "preload: 0 shards, 0 of 0 bytes",
       "prediction: 6.350 ms median, 6.350 ms p99, peak 673544 bytes, accuracy 0.8500"});
}

TEST(Explain, ASubmodelWithoutATarget) {
  PlanRequest request;
  request.submodel = {2, 1};
  ExpectExplained(
      Explainable(), request,
      {"compute planning: 2x1 as asked, no target", "uniform bits: 2x1 holds 32 bits uniform",
       "preload: 0 shards, 0 of 0 bytes",
       "prediction: 5.050 ms median, 5.050 ms p99, peak 673544 bytes, accuracy 0.8500"});
}

TEST(Explain, ALeastAccuracyIsATarget) {
  PlanRequest request = RequestFor(10000);
  request.min_accuracy = 0.7;
  Lines explain;
  const auto plan = MakePlan(Explainable().input(), request, &explain);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_EQ(explain.front(), "accuracy: 0.7000 takes a target of at least 1.851ms");
  EXPECT_EQ(explain.at(6),
            "next better: 1x2, needs a target of 2.150ms or a preload of 200 bytes, at the fewest "
            "bits");
}

TEST(Explain, ValuesThatWereNotMeasured) {
  test::World world = Explainable();
  world.use_importance = false;
  Lines explain;
  const auto plan = MakePlan(world.input(), RequestFor(4000), &explain);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_EQ(explain.at(3),
            "value: depth x root of width stands in for A(n, m), which was not measured");
}

}  // namespace
}  // namespace sti
