// The choice of a cascade among those that were measured, on prices computed by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/remedy.h"
#include "measured_world.h"
#include "plan/judge.h"
#include "plan/request.h"
#include "plan/shard_room.h"
#include "support/expect.h"
#include "types/plan_check.h"

namespace sti {
namespace {

using test::CascadeAsked;
using test::Cut;
using test::MeasuredWorld;
using test::NameOf;

/// Expects a plan that keeps the format's rules and has the figures that a check gives.
void ExpectSound(const test::World& world, const Plan& plan) {
  PlanBounds bounds;
  bounds.layers = world.catalog.layers;
  bounds.width = world.catalog.width;
  bounds.model = test::Model();
  const auto fault = FindPlanFault(plan, bounds);
  EXPECT_FALSE(fault) << fault->text();
  const auto verdicts = JudgePlan(world.input(), {}, plan);
  ASSERT_TRUE(Succeeded(verdicts));
  EXPECT_EQ(verdicts->problem(), "");
  EXPECT_TRUE(plan.meets_target);
  EXPECT_EQ(verdicts->plan.latency_us, plan.predicted_latency_us);
  ASSERT_TRUE(verdicts->cascade);
  EXPECT_EQ(verdicts->cascade->mean_us, plan.cascade->mean_us);
  EXPECT_EQ(verdicts->cascade->path_us, plan.cascade->path_us);
  EXPECT_EQ(verdicts->cascade->worst_path_us, plan.cascade->worst_path_us);
  for (size_t i = 0; i < plan.cascade->levels.size(); ++i) {
    EXPECT_EQ(verdicts->cascade->upgrade_bytes[i], plan.cascade->levels[i].upgrade_bytes);
  }
}

TEST(CascadeChoice, TheLeastMeanOfThoseAccurateEnoughIsTaken) {
  const test::World world = MeasuredWorld();
  // 0 and 2 at 0.75: 0.75 x 55 + 0.25 x 262.
  auto plan = MakePlan(world.input(), CascadeAsked(300, 0.88));
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(NameOf(*plan), "1@2 2@6");
  EXPECT_EQ(plan->cascade->mean_us, 0.75 * 55 + 0.25 * 262);
  EXPECT_EQ(plan->cascade->levels[0].rule, (CascadeRule{0.75, std::nullopt, 0, 1}));
  EXPECT_EQ(plan->cascade->levels[0].temperature, 1.25);
  EXPECT_EQ(plan->cascade->temperature, 2);
  EXPECT_EQ(plan->cascade->return_share, std::vector<double>{0.75});
  EXPECT_EQ(plan->cascade->quality.accuracy, 0.88);
  EXPECT_EQ(plan->quality.accuracy, 0.9);
  ExpectSound(world, *plan);
  // 1 and 2 at 0.75: 0.875 x 95 + 0.125 x 262 = 115.9 is less than what 0, 1 and 2 take.
  plan = MakePlan(world.input(), CascadeAsked(300, 0.89));
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(NameOf(*plan), "2@2 2@6");
  EXPECT_EQ(plan->cascade->mean_us, 0.875 * 95 + 0.125 * 262);
  // 0, 1 and 2: 0.5 x 55 + 0.25 x 102 + 0.25 x (102 + 167).
  plan = MakePlan(world.input(), CascadeAsked(300, 0.895));
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(NameOf(*plan), "1@2 2@2 2@6");
  EXPECT_EQ(plan->cascade->mean_us, 0.5 * 55 + 0.25 * 102 + 0.25 * 269);
  ExpectSound(world, *plan);
  // No more than two levels: 0 and 2 at 0.9, 158.5, rather than 1 and 2, 157.6, which is better.
  PlanRequest two = CascadeAsked(300, 0.895);
  two.mode = CascadeWish{2};
  plan = MakePlan(world.input(), two);
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(NameOf(*plan), "2@2 2@6");
  EXPECT_EQ(plan->cascade->mean_us, 0.625 * 95 + 0.375 * 262);
}

TEST(CascadeChoice, AccuracyCountsLessAStandardError) {
  test::World world = MeasuredWorld();
  for (CascadeScore& cascade : world.importance.cascades) {
    for (CascadeCut& cut : cascade.cuts) cut.difference_error = 0.01;
  }
  // The cut of 0 and 2 that has 0.88 counts as 0.87, that of 1 and 2 with 0.89 as 0.88.
  auto plan = MakePlan(world.input(), CascadeAsked(300, 0.88));
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(NameOf(*plan), "2@2 2@6");
  EXPECT_EQ(plan->cascade->quality.accuracy, 0.89);  // as measured
  const auto none = MakePlan(world.input(), CascadeAsked(300, 0.905));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::kInfeasible);
  EXPECT_NE(none.error().Message().find("the best has 0.9000"), std::string::npos)
      << none.error().Message();
  ASSERT_TRUE(Succeeded(MakePlan(world.input(), CascadeAsked(300, 0.9))));
  // The best plan of one level has 0.9: of the cascades, only that of 0.91 is as good for sure.
  plan = MakePlan(world.input(), CascadeAsked(300));
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(plan->cascade->quality.accuracy, 0.91);
  for (CascadeScore& cascade : world.importance.cascades) {
    for (CascadeCut& cut : cascade.cuts) cut.difference_error = 0.02;
  }
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), CascadeAsked(300)), ErrorKind::kInfeasible,
                         "no cascade of an accuracy of 0.9000, that of the best plan without a "
                         "cascade, was measured; the best has 0.8900"));
}

TEST(CascadeChoice, EachIsExplained) {
  std::vector<std::string> lines;
  const test::World world = MeasuredWorld();
  ASSERT_TRUE(Succeeded(MakePlan(world.input(), CascadeAsked(265, 0.89), &lines)));
  std::erase_if(lines, [](const std::string& line) { return !line.starts_with("cascade: "); });
  EXPECT_EQ(
      lines,
      (std::vector<std::string>{
          "cascade: 1x2 at 2 bits, then 2x2 at 2 bits: 0.055 ms, 0.102 ms to each level's label, "
          "p99 0.102 ms; none of its cuts is accurate enough, the best has 0.8500",
          "cascade: 1x2 at 2 bits, then 2x2 at 2 bits, then 2x2 at 6 bits: 0.055 ms, 0.102 ms, "
          "0.269 ms to each level's label, p99 0.269 ms; takes 0.269 ms of 0.265 ms through all "
          "levels",
          "cascade: 1x2 at 2 bits, then 2x2 at 6 bits: 0.055 ms, 0.262 ms to each level's label, "
          "p99 0.262 ms; mean 0.159 ms with accuracy 0.9000, less a standard error 0.9000",
          "cascade: 2x2 at 2 bits, then 2x2 at 6 bits: 0.095 ms, 0.262 ms to each level's label, "
          "p99 0.262 ms; mean 0.116 ms with accuracy 0.8900, less a standard error 0.8900",
          "cascade: 2x2 at 2 bits, then 2x2 at 6 bits is taken: c 0.7500, alpha 0.000, w 1.000; "
          "returns 87.5 %; mean 0.116 ms, accuracy 0.8900"}));
}

TEST(CascadeChoice, RowsLeaveTheBufferWhereShardsNeedItToBeInTime) {
  test::World world = MeasuredWorld();
  world.row_bytes = 10;
  world.profile.fixed[0].embed_io_us = 80;
  // Three rows save 10 us, more than so many bytes of a shard; but a shard of 300 bytes is whole.
  world.importance.word_use = {{5, 3, 9}, {{128, 0, 1, 1}, {128, 3, 0.875, 0.875}}};
  PlanRequest request = CascadeAsked(500, 0.9);
  request.preload_bytes = 300;
  auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(plan->words.size(), 3U);
  EXPECT_TRUE(plan->preload.empty());
  EXPECT_GE(plan->predicted_p99_us, 70 + 4 * 60 + 5 + 2);
  request.target_us = 316;
  plan = MakePlan(world.input(), request);
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_TRUE(plan->words.empty());
  EXPECT_EQ(plan->preload.size(), 1U);
  EXPECT_EQ(plan->predicted_p99_us, 80 + 3 * 60 + 5 + 2);
  ExpectSound(world, *plan);
}

TEST(CascadeChoice, NothingThatWasMeasuredIsBetter) {
  test::Random random(5);
  for (int round = 0; round < 40; ++round) {
    test::World world = MeasuredWorld();
    for (CascadeScore& cascade : world.importance.cascades) {
      cascade.cuts.clear();
      for (int i = 0; i < 6; ++i) {
        std::vector<double> shares(cascade.levels.size(), random.Below(40) / 100.0);
        shares.back() = 1 - shares[0] * static_cast<double>(shares.size() - 1);
        cascade.cuts.push_back(Cut(i / 10.0, shares, 0.8 + random.Below(12) / 100.0));
      }
    }
    const PlanRequest request =
        CascadeAsked(150 + random.Below(150), 0.8 + random.Below(10) / 100.0);
    const auto plan = MakePlan(world.input(), request);
    double best_us = INFINITY;
    bool is_of_use = false;  // faster than its last level alone, or more accurate
    const double price[4][3] = {{55, 262}, {95, 262}, {55, 102}, {55, 102, 269}};
    const double alone_us[3] = {55, 95, 255};
    for (size_t row = 0; row < 4; ++row) {
      const CascadeScore& cascade = world.importance.cascades[row];
      if (price[row][cascade.levels.size() - 1] > *request.target_us) continue;
      for (const CascadeCut& cut : cascade.cuts) {
        double mean_us = 0;
        for (size_t i = 0; i < cut.shares.size(); ++i) mean_us += cut.shares[i] * price[row][i];
        if (cut.accuracy < *request.min_accuracy || mean_us >= best_us) continue;
        best_us = mean_us;
        const uint32_t last = cascade.levels.back();
        is_of_use = mean_us < alone_us[last] ||
                    cut.accuracy > world.importance.cascade_levels[last].accuracy;
      }
    }
    ASSERT_EQ(plan.ok(), best_us < INFINITY && is_of_use) << round;
    if (plan.ok()) {
      EXPECT_NEAR(plan->cascade->mean_us, best_us, 1e-9);
    } else {
      EXPECT_TRUE(FailedWith(plan, ErrorKind::kInfeasible));
    }
  }
}

TEST(CascadeChoice, TheLastLevelIsAPlanMadeAlone) {
  test::World world = MeasuredWorld();
  world.MeasureSubmodels();
  world.importance.scores.resize(4);
  world.importance.cascades.resize(1);
  PlanRequest request = CascadeAsked(300, 0.88);
  request.preload_bytes = 700;
  const auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(Succeeded(plan));
  request.mode = PlanRequest::Warm{};
  request.min_accuracy.reset();
  request.submodel = Submodel{2, 2};
  request.uniform_bits = 6;
  request.length = 128;
  const auto alone = MakePlan(world.input(), request);
  ASSERT_TRUE(Succeeded(alone));
  EXPECT_EQ(plan->bits, alone->bits);
  EXPECT_EQ(plan->preload, alone->preload);
  EXPECT_EQ(plan->preload.size(), 2U);
  EXPECT_EQ(plan->preload_bytes, 600U);
  EXPECT_EQ(plan->aib_us, alone->aib_us);
  EXPECT_EQ(plan->predicted_latency_us, alone->predicted_latency_us);
  EXPECT_EQ(plan->predicted_p99_us, alone->predicted_p99_us);
  // Both layers' reads are short once level 1 has read its planes: more is read ahead.
  EXPECT_GT(plan->staging_bytes, alone->staging_bytes);
  EXPECT_EQ(plan->times->layer_io_us, alone->times->layer_io_us);
  EXPECT_EQ(plan->quality.accuracy, alone->quality.accuracy);
  // While the cascade runs the buffer holds what level 1 runs of the same bytes.
  const PlanCore& first = plan->cascade->levels[0].plan;
  EXPECT_EQ(first.preload, (std::vector<ShardAtBits>{{{0, 0}, 2}, {{0, 1}, 2}}));
  EXPECT_EQ(first.preload_bytes, 200U);
  EXPECT_EQ(first.predicted_latency_us, 8 + 1 + 5 + 2);
  ExpectSound(world, *plan);
}

TEST(CascadeChoice, ALevelsFiguresAreOfItsOwnRun) {
  const auto plan = MakePlan(MeasuredWorld().input(), CascadeAsked(300, 0.895));
  ASSERT_TRUE(Succeeded(plan));
  ASSERT_EQ(plan->cascade->levels.size(), 2U);
  const PlanCore& first = plan->cascade->levels[0].plan;
  EXPECT_EQ(first.predicted_latency_us, 55);
  EXPECT_EQ(first.times->embed_io_us, 8);
  EXPECT_EQ(first.times->layer_io_us, std::vector<double>{40});
  // The rows and layer 0 are in memory: layer 1 is read while layer 0 computes.
  const PlanCore& second = plan->cascade->levels[1].plan;
  EXPECT_EQ(second.predicted_latency_us, 47);
  EXPECT_EQ(second.predicted_p99_us, 47);
  EXPECT_EQ(second.times->embed_io_us, 0);
  EXPECT_EQ(second.times->layer_io_us, (std::vector<double>{0, 40}));
  EXPECT_TRUE(second.preload.empty());
  EXPECT_TRUE(second.meets_target);
  // The slack is 300 - 13, all of which and 40 of preloaded shards' IO is there at layer 0.
  EXPECT_EQ(second.aib_us, (std::vector<double>{287, 287 + 5 - 40}));
}

TEST(CascadeChoice, WithoutAnAccuracyTheBestPlanAloneSaysIt) {
  test::World world = MeasuredWorld();
  // Nothing is predicted: the best level that alone keeps the target has 0.9, then 0.86. 1 and then
  // 2 has 0.91, and takes 157.6 where 0 and then 2 takes 158.5.
  auto plan = MakePlan(world.input(), CascadeAsked(300));
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(plan->cascade->quality.accuracy, 0.91);
  world.importance.cascades[2].cuts[0].accuracy = 0.86;
  plan = MakePlan(world.input(), CascadeAsked(110));
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(NameOf(*plan), "1@2 2@2");
  // A(n, m) says that no plan has more than 0.81, for which 0 and then 1 is enough.
  world = MeasuredWorld();
  world.MeasureSubmodels();
  world.importance.scores.resize(4);
  EXPECT_LT(world.importance.submodels.back().accuracy, 0.81);
  std::vector<std::string> lines;
  plan = MakePlan(world.input(), CascadeAsked(300), &lines);
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(NameOf(*plan), "1@2 2@2");
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("cascade: the best plan without one takes ") &&
           line.find(", accuracy 0.79") != std::string::npos;
  }));
  world.importance.submodels.back().accuracy = 0.95;
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), CascadeAsked(300)), ErrorKind::kInfeasible,
                         "that of the best plan without a cascade,"));
}

TEST(CascadeChoice, EqualMeansAreTakenByAccuracyThenLevelsThenWords) {
  test::World world = MeasuredWorld();
  auto& cascades = world.importance.cascades;
  cascades = {{{0, 2}, 0.5, {Cut(0.9, {0.5, 0.5}, 0.9), Cut(0.8, {0.5, 0.5}, 0.91)}},
              {{0, 2}, 0.75, {Cut(0.85, {0.5, 0.5}, 0.91)}},
              {{0, 2}, 0, {Cut(0.7, {0.5, 0.5}, 0.91)}}};
  const auto plan = MakePlan(world.input(), CascadeAsked(300, 0.8));
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(plan->cascade->levels[0].rule.cutoff, 0.85);
  EXPECT_EQ(plan->cascade->levels[0].rule.prune_alpha, 0.75);
  std::swap(cascades[0], cascades[2]);
  EXPECT_EQ(MakePlan(world.input(), CascadeAsked(300, 0.8))->cascade->levels[0].rule,
            plan->cascade->levels[0].rule);
}

TEST(CascadeChoice, ARuleIsThatOfItsCut) {
  test::World world = MeasuredWorld();
  // In a file shares add up to 1 but for rounding.
  CascadeCut cut = Cut(0.9, {0.75, 0.25 + 5e-7, 0}, 0.9);
  cut.slope = 1e9;
  cut.weights = {0.5, 0.625};
  world.importance.cascades = {{{0, 1, 2}, 0.5, {cut}}};
  const auto plan = MakePlan(world.input(), CascadeAsked(300, 0.9));
  ASSERT_TRUE(Succeeded(plan));
  CascadeRule rule{.cutoff = 0.9, .slope = kMostSlope, .prune_alpha = 0.5, .ensemble_weight = 0.5};
  EXPECT_EQ(plan->cascade->levels[0].rule, rule);
  rule.ensemble_weight = 0.625;
  EXPECT_EQ(plan->cascade->levels[1].rule, rule);
  EXPECT_EQ(plan->cascade->return_share, (std::vector<double>{0.75, 0.25}));
  ExpectSound(world, *plan);
}

TEST(CascadeChoice, LevelsShareRowsOfFrequentWords) {
  test::World world = MeasuredWorld();
  world.row_bytes = 10;
  world.profile.fixed[0].embed_io_us = 80;
  world.importance.word_use = {{5, 3, 9, 4}, {{128, 0, 1, 1}, {128, 3, 0.25, 0.5}}};
  PlanRequest request = CascadeAsked(400, 0.88);
  request.preload_bytes = 140;
  const auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(plan->words, (std::vector<uint32_t>{3, 5, 9}));
  const PlanCore& first = plan->cascade->levels[0].plan;
  EXPECT_EQ(first.preload.size(), 1U);
  EXPECT_EQ(first.preload_bytes, 130U);
  EXPECT_EQ(first.predicted_latency_us, 20 + 20 + 5 + 2);
  ExpectSound(world, *plan);
  // The request that the plan answers gives the same again.
  const auto told = RequestOf(*plan, world.info);
  ASSERT_TRUE(Succeeded(told));
  EXPECT_NE(told->cascade(), nullptr);
  EXPECT_EQ(told->preload_bytes, 130U);
}

TEST(CascadeChoice, ARequestIsTakenFromAPlanWithACascade) {
  const test::World world = MeasuredWorld();
  PlanRequest request = CascadeAsked(300);
  request.preload_bytes = 200;
  const auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(plan->preload_bytes, 0U);  // no shard at 6 bits is as small
  const auto told = RequestOf(*plan, world.info);
  ASSERT_TRUE(Succeeded(told));
  EXPECT_EQ(told->preload_bytes, 200U);
  EXPECT_EQ(told->judging.risk, Risk::kP99);
  const auto again = MakePlan(world.input(), *told);
  ASSERT_TRUE(Succeeded(again));
  EXPECT_EQ(NameOf(*again), NameOf(*plan));
  EXPECT_EQ(again->cascade->mean_us, plan->cascade->mean_us);
  Plan late = *plan;
  late.cascade->worst_path_us = 301;
  EXPECT_EQ(RequestOf(late, world.info)->judging.risk, Risk::kMedian);
}

TEST(CascadeChoice, MemoryHoldsAllLevels) {
  const test::World world = MeasuredWorld();
  const auto free = MakePlan(world.input(), CascadeAsked(300, 0.9));
  ASSERT_TRUE(Succeeded(free));
  PlanRequest request = CascadeAsked(300, 0.9);
  request.judging.memory_bytes = free->predicted_peak_bytes;
  const auto bound = MakePlan(world.input(), request);
  ASSERT_TRUE(Succeeded(bound));
  EXPECT_LE(bound->predicted_peak_bytes, free->predicted_peak_bytes);
  EXPECT_EQ(bound->cascade->mean_us, free->cascade->mean_us);
  // With less memory the last level stages less, and the plan tells its runner so.
  request.judging.memory_bytes = free->predicted_peak_bytes - 10;
  const auto tight = MakePlan(world.input(), request);
  ASSERT_TRUE(Succeeded(tight));
  EXPECT_EQ(NameOf(*tight), NameOf(*free));
  EXPECT_EQ(tight->staging_bytes, *free->staging_bytes - 10);
  EXPECT_EQ(tight->predicted_peak_bytes, free->predicted_peak_bytes - 10);
  ExpectSound(world, *tight);
}

// Alone the plan preloads what its cascade has to read, and needs little staging beside that.
TEST(CascadeChoice, InLittleMemoryTheLastLevelHasAnArenaAndThePeakCountsIt) {
  const test::World world = test::MeasuredWorld();
  PlanRequest request = test::CascadeAsked(1000, 0.88);
  size_t made = 0;
  for (const uint64_t preload_bytes : {0, 300, 600, 900, 1200}) {
    request.preload_bytes = preload_bytes;
    for (uint64_t shards_bytes = 100; shards_bytes < 3000; shards_bytes += 50) {
      request.judging.memory_bytes = BytesBeforeShards(world.memory(), {128, 2}) + shards_bytes;
      const auto plan = MakePlan(world.input(), request);
      if (!plan.ok()) continue;
      ++made;
      uint64_t held = world.catalog.BytesOfAll(plan->cascade->levels[0].plan.preload);
      held += StreamedBytes(plan->cascade->levels[0].plan, 0);
      if (plan->cascade->levels.size() > 1) held += plan->cascade->levels[0].upgrade_bytes;
      const auto devices = CheckedDevices(world.checked(), {}, *plan);
      ASSERT_TRUE(devices.ok());
      EXPECT_GE(plan->staging_bytes.value_or(0),
                LargestLayerBytes(world.checked(), devices->median, *plan));
      EXPECT_LE(held + plan->staging_bytes.value_or(0), shards_bytes);
    }
  }
  EXPECT_GT(made, 50u);
}

}  // namespace
}  // namespace sti
