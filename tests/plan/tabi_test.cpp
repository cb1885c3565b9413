// The heuristic of Tabi 5, step by step, on prices computed by hand (measured_world.h).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/remedy.h"
#include "measured_world.h"
#include "plan/planner.h"
#include "support/expect.h"

namespace sti {
namespace {

using test::CascadeAsked;
using test::Cut;
using test::MeasuredWorld;

PlanRequest ByTabi(double target_us, std::optional<double> min_accuracy = std::nullopt) {
  PlanRequest request = CascadeAsked(target_us, min_accuracy);
  request.strategy = Strategy::kTabi;
  return request;
}

/// Returns a cut of levels 0 and 2, w weighing by accuracy, whose last answers have `last`.
CascadeCut Weighing(double cutoff, double returned, double accuracy, double last = 0.9) {
  CascadeCut cut = Cut(cutoff, {returned, 1 - returned}, accuracy);
  cut.weights = {0.625};
  cut.accuracies = {0.9, last};
  return cut;
}

/// Levels 0 and 2, 55 and 262 us, whose accuracies are 0.8 and 0.9 alone; the paths of 55 us at
/// the 75th percentile are those that return as many.
test::World WorldOf(std::vector<CascadeScore> rows) {
  test::World world = MeasuredWorld();
  world.importance.cascades = std::move(rows);
  return world;
}

CascadeRule RuleOf(const test::World& world, const PlanRequest& request = ByTabi(300)) {
  const auto plan = MakePlan(world.input(), request);
  EXPECT_TRUE(Succeeded(plan));
  if (!plan.ok()) return {};
  EXPECT_EQ(plan->strategy_name(), "tabi");
  EXPECT_EQ(plan->cascade->levels[0].plan.strategy, Strategy::kTabi);
  return plan->cascade->levels[0].rule;
}

TEST(Tabi, CFallsUntilTheAccuracyIsBelowTheMeanOfTheLevels) {
  // A cut at 0.97 is above where c begins, one at 0.72 is not the next below any step, and behind
  // 0.65, which has less than 0.85, no cut counts.
  EXPECT_EQ(RuleOf(WorldOf({{{0, 2},
                             0,
                             {Weighing(0.97, 0.99, 0.9), Weighing(0.9, 0.5, 0.9),
                              Weighing(0.75, 0.75, 0.87), Weighing(0.72, 0.97, 0.87),
                              Weighing(0.7, 0.76, 0.85), Weighing(0.65, 0.98, 0.84),
                              Weighing(0.6, 0.99, 0.89)}}}))
                .cutoff,
            0.7);
}

TEST(Tabi, EachSlopeIsSearched) {
  CascadeCut soft = Weighing(0.9, 0.9, 0.86);
  soft.slope = 8;
  EXPECT_EQ(RuleOf(WorldOf({{{0, 2}, 0, {Weighing(0.9, 0.8, 0.9), soft}}})).slope, 8);
}

TEST(Tabi, EnsemblesWeighByAccuracyWhereThatWasMeasured) {
  const CascadeCut alone = Cut(0.9, {0.9, 0.1}, 0.9);
  EXPECT_EQ(RuleOf(WorldOf({{{0, 2}, 0, {alone, Weighing(0.9, 0.8, 0.9)}}})).ensemble_weight,
            0.625);
  EXPECT_EQ(RuleOf(WorldOf({{{0, 2}, 0, {alone}}})).ensemble_weight, 1);
}

TEST(Tabi, AlphaRisesUntilTwoPercentAreLost) {
  const auto row = [](double alpha, double last) {
    return CascadeScore{{0, 2}, alpha, {Weighing(0.9, 0.8, 0.88, last)}};
  };
  // In equal time that of the most pruning wins. 0.3 is before where alpha begins, 0.55 is no
  // step, and 0.7 loses too much, so that nobody looks at 0.8.
  EXPECT_EQ(RuleOf(WorldOf({row(0.8, 0.9), row(0.7, 0.87), row(0.6, 0.885), row(0.55, 0.9),
                            row(0.5, 0.89), row(0.3, 0.9), row(0, 0.9)}))
                .prune_alpha,
            0.6);
  EXPECT_EQ(RuleOf(WorldOf({row(0.5, 0.87), row(0, 0.9)})).prune_alpha, 0);
  // A row by which the whole cascade is worse than its levels' mean is no choice either.
  CascadeScore worse = row(0.5, 0.89);
  worse.cuts[0].accuracy = 0.84;
  EXPECT_EQ(RuleOf(WorldOf({worse, row(0, 0.9)})).prune_alpha, 0);
}

TEST(Tabi, ThreeOfFourPathsKeepWithinOnceAndAHalfTheSlowestLevel) {
  // Levels 0 and 1 alone take 55 and 95, and one behind the other 102: within 1.5 x 95. With a
  // buffer of all of level 1's shards it takes 8 + 1 + 5 + 5 + 2, and behind level 0 16 + 40 + 7.
  test::World world = WorldOf({{{0, 1}, 0, {Weighing(0.9, 0.5, 0.85)}}});
  EXPECT_EQ(RuleOf(world).cutoff, 0.9);
  PlanRequest request = ByTabi(300);
  request.preload_bytes = 400;
  const auto none = MakePlan(world.input(), request);
  EXPECT_TRUE(FailedWith(none, ErrorKind::kInfeasible, "the heuristic of tabi leaves 0 cuts",
                         Remedy::kGiveInRequest));
  EXPECT_EQ(none.error().value, "strategy sti");
  world.importance.cascades[0].cuts[0].shares = {0.75, 0.25};
  EXPECT_EQ(RuleOf(world, request).cutoff, 0.9);
}

TEST(Tabi, AccuracyRisesFromLevelToLevel) {
  test::World world = MeasuredWorld();
  world.importance.cascade_levels[1].accuracy = 0.8;
  std::vector<std::string> lines;
  const auto plan = MakePlan(world.input(), ByTabi(300), &lines);
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_EQ(plan->cascade->levels.size(), 1U);
  EXPECT_EQ(plan->layers.size(), 2U);
  EXPECT_EQ(plan->bits.At(0, 0), 6U);
  size_t left_out = 0;
  for (const std::string& line : lines)
    left_out += line.find("accuracy does not rise") != std::string::npos ? 1 : 0;
  EXPECT_EQ(left_out, 2U);  // those with levels 0 and 1
}

TEST(Tabi, TargetAndAccuracyAreKeptBesides) {
  const test::World world =
      WorldOf({{{0, 2}, 0, {Weighing(0.9, 0.5, 0.9), Weighing(0.8, 0.75, 0.87)}}});
  EXPECT_EQ(RuleOf(world).cutoff, 0.8);
  EXPECT_EQ(RuleOf(world, ByTabi(300, 0.88)).cutoff, 0.9);
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), ByTabi(300, 0.95)), ErrorKind::kInfeasible,
                         "leaves 2 cuts of cascades, none of which meets the request"));
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), ByTabi(261)), ErrorKind::kInfeasible,
                         "takes 0.262ms through all levels", Remedy::kRaiseInRequest));
}

}  // namespace
}  // namespace sti
