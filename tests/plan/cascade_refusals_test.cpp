// Requests for a cascade that are refused: none can be had, none was measured, or they make no
// sense.
#include <gtest/gtest.h>

#include <string>

#include "base/remedy.h"
#include "measured_world.h"
#include "support/expect.h"

namespace sti {
namespace {

using test::CascadeAsked;
using test::Cut;
using test::MeasuredWorld;
using test::NameOf;

TEST(CascadeRefusals, WhatCannotBeMetSaysWhatWouldDo) {
  const test::World world = MeasuredWorld();
  // None is as accurate.
  auto plan = MakePlan(world.input(), CascadeAsked(300, 0.95));
  EXPECT_TRUE(FailedWith(plan, ErrorKind::kInfeasible,
                         "no cascade of an accuracy of 0.9500 was measured; the best has 0.9100",
                         Remedy::kGiveInRequest));
  EXPECT_EQ(plan.error().value, "min_accuracy 0.9100");
  EXPECT_TRUE(Succeeded(MakePlan(world.input(), CascadeAsked(300, 0.91))));
  // One is, but takes 262 us; another that is not takes 102.
  plan = MakePlan(world.input(), CascadeAsked(200, 0.9));
  EXPECT_TRUE(FailedWith(plan, ErrorKind::kInfeasible,
                         "no cascade of an accuracy of 0.9000 meets 0.200 ms: 1x2 at 2 bits, then "
                         "2x2 at 6 bits takes 0.262ms through all levels",
                         Remedy::kRaiseInRequest));
  EXPECT_EQ(plan.error().value, "target_us, or give min_accuracy 0.8500");
  EXPECT_TRUE(Succeeded(MakePlan(world.input(), CascadeAsked(262, 0.9))));
  EXPECT_TRUE(Succeeded(MakePlan(world.input(), CascadeAsked(200, 0.85))));
  // Memory is short: what it takes is told.
  PlanRequest request = CascadeAsked(300, 0.9);
  request.judging.memory_bytes = 1000;
  plan = MakePlan(world.input(), request);
  EXPECT_TRUE(FailedWith(plan, ErrorKind::kInfeasible, "fits in the memory asked for: the smallest",
                         Remedy::kRaiseInRequest));
  const std::string needs = plan.error().what.substr(plan.error().what.find("needs ") + 6);
  request.judging.memory_bytes = std::stoull(needs);
  plan = MakePlan(world.input(), request);
  // With the least memory reads wait, which takes longer, or else it is enough.
  EXPECT_TRUE(plan.ok() || FailedWith(plan, ErrorKind::kInfeasible, "through all levels"));
  // Where no plan alone keeps the target, no cascade does.
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), CascadeAsked(20)), ErrorKind::kInfeasible,
                         "the smallest feasible target"));
}

TEST(CascadeRefusals, ACascadeIsFasterThanItsLastLevelAloneOrMoreAccurate) {
  test::World world = MeasuredWorld();
  // 1 and then 2 takes 262 us where nothing returns early; 2 alone takes 255 and has 0.9.
  world.importance.cascades = {{{1, 2}, 0, {Cut(0.9, {0.03125, 0.96875}, 0.9)}}};
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), CascadeAsked(300, 0.9)), ErrorKind::kInfeasible,
                         "no cascade of an accuracy of 0.9000 is faster than its last level alone: "
                         "2x2 at 2 bits, then 2x2 at 6 bits takes 0.257 ms in the mean, and alone "
                         "0.255 ms",
                         Remedy::kDropFromRequest));
  world.importance.cascades[0].cuts[0].accuracy = 0.91;
  EXPECT_TRUE(Succeeded(MakePlan(world.input(), CascadeAsked(300, 0.9))));
  world.importance.cascades = {{{1, 2}, 0, {Cut(0.9, {0.0625, 0.9375}, 0.9)}}};
  EXPECT_TRUE(Succeeded(MakePlan(world.input(), CascadeAsked(300, 0.9))));
}

TEST(CascadeRefusals, WhatWasNotMeasuredIsNoChoice) {
  test::World world = MeasuredWorld();
  const PlanRequest request = CascadeAsked(300, 0.8);
  world.use_importance = false;
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), request), ErrorKind::kUsage, "importance",
                         Remedy::kMeasureCascades));
  world = MeasuredWorld();
  world.info.problem = Problem::kMultiLabel;
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), request), ErrorKind::kUsage, "one label"));
  world = MeasuredWorld();
  world.importance.cascades.clear();
  const auto none = MakePlan(world.input(), request);
  EXPECT_TRUE(FailedWith(none, ErrorKind::kForeign, "no cascades", Remedy::kMeasureCascades));
  EXPECT_EQ(none.error().source, Source::kImportance);
  // Levels at bits that the container lacks, or of a width that was not profiled.
  world = MeasuredWorld();
  for (CascadeLevelScore& level : world.importance.cascade_levels) level.bits += 1;
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), request), ErrorKind::kForeign, "3 bits"));
  world = MeasuredWorld();
  world.importance.cascade_levels[0].bits = 5;  // the others can still be planned
  EXPECT_EQ(NameOf(*MakePlan(world.input(), request)), "2@2 2@6");
  world = MeasuredWorld();
  world.info.elastic = false;
  EXPECT_EQ(NameOf(*MakePlan(world.input(), request)), "2@2 2@6");  // all of whose layers run
  world.importance.cascades.resize(1);
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), request), ErrorKind::kInfeasible,
                         "1x2 was not trained", Remedy::kGiveInRequest));
  world = MeasuredWorld();
  world.importance.cascades = {world.importance.cascades[3]};
  PlanRequest two = request;
  two.mode = CascadeWish{2};
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), two), ErrorKind::kForeign, "2 levels"));
  EXPECT_TRUE(Succeeded(MakePlan(world.input(), request)));
}

TEST(CascadeRefusals, RowsThatContradictThemselvesAreDamaged) {
  const auto refused = [](void (*edit)(CascadeScore&)) {
    test::World world = MeasuredWorld();
    edit(world.importance.cascades[0]);
    return FailedWith(MakePlan(world.input(), CascadeAsked(300, 0.8)), ErrorKind::kDamaged,
                      "cascade");
  };
  EXPECT_TRUE(refused([](CascadeScore& row) { row.levels = {0, 3}; }));
  EXPECT_TRUE(refused([](CascadeScore& row) { row.levels = {2}; }));
  EXPECT_TRUE(refused([](CascadeScore& row) { row.cuts[1].shares = {1}; }));
  EXPECT_TRUE(refused([](CascadeScore& row) { row.cuts[1].weights.clear(); }));
}

TEST(CascadeRefusals, RequestsThatMakeNoSenseAreRefused) {
  const auto refused = [](void (*edit)(PlanRequest&)) {
    PlanRequest request = CascadeAsked(300, 0.8);
    edit(request);
    return FailedWith(MakePlan(MeasuredWorld().input(), request), ErrorKind::kUsage);
  };
  EXPECT_TRUE(refused([](PlanRequest& r) { r.strategy = Strategy::kStdpl; }));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.strategy = Strategy::kStiPaper; }));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.target_us.reset(); }));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.mode = CascadeWish{1}; }));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.mode = CascadeWish{4}; }));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.submodel = Submodel{2, 2}; }));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.uniform_bits = 2; }));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.io_budget_bytes = 100; }));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.full_accuracy = 0.9; }));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.further_lengths = {32, 64}; }));
  EXPECT_TRUE(refused([](PlanRequest& r) { r.clocks = {2, 1}; }));
  PlanRequest tabi = CascadeAsked(300);
  tabi.mode = PlanRequest::Warm{};
  tabi.strategy = Strategy::kTabi;
  EXPECT_TRUE(FailedWith(MakePlan(MeasuredWorld().input(), tabi), ErrorKind::kUsage,
                         "the strategy tabi chooses a cascade", Remedy::kGiveInRequest));
}

}  // namespace
}  // namespace sti
