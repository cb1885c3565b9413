// Cascades in plan files: both spellings hold the same, and neither holds cascades in cascades.
#include <gtest/gtest.h>

#include "base/utf8.h"
#include "format/container_writer.h"
#include "format/plan_file.h"
#include "format/small_file_test.h"
#include "support/expect.h"

namespace sti {
namespace {

Plan LevelPlan() {
  Plan plan;
  plan.model.bytes[0] = 0xAB;
  plan.strategy = Strategy::kSti;
  plan.length = 64;
  plan.layers = {1, 4};
  plan.width = 2;
  plan.slices = {{0, 1}, {0, 1}};
  plan.bits = {{2, 6}, {32, 3}};
  plan.preload = {{1, 0, 2}};
  plan.preload_bytes = 36864;
  plan.kernel.name = "avx2";
  return plan;
}

/// Returns a plan with every field of 1.6.
Plan WithCascade() {
  Plan plan = LevelPlan();
  plan.words = {3, 9};
  PlanCascade& cascade = plan.cascade.emplace();
  cascade.temperature = 1.25;
  cascade.return_share = {0.5, 0.125};
  cascade.path_us = {1000, 2000.5, 4000};
  cascade.mean_us = 2500.25;
  cascade.worst_path_us = 5000.5;
  cascade.quality = {0.25, 0.875, 0.75};
  cascade.levels.resize(2);
  for (CascadeLevel& level : cascade.levels) level.plan = LevelPlan();
  cascade.levels[0] = {LevelPlan(), 1.5, {0.95, 4.5, 0.25, 0.5}, 4096};
  cascade.levels[1].plan.preload.clear();
  cascade.levels[1].plan.times = PlanTimes{0, 0, 1, 1, 4, 5, 9, 3, {1, 0}};
  return plan;
}

TEST(PlanFileCascade, BothSpellingsHoldTheSame) {
  const Plan example = WithCascade();
  const auto binary = EncodePlan(example);
  const std::string json = PlanToJson(example);
  const auto from_binary = ParsePlan(binary, "a.file");
  const auto from_json = ParsePlan(AsBytes(json), "a.file");
  ASSERT_TRUE(Succeeded(from_binary));
  ASSERT_TRUE(Succeeded(from_json));
  EXPECT_EQ(EncodePlan(*from_json), binary);
  EXPECT_EQ(PlanToJson(*from_binary), json);
  ASSERT_TRUE(from_binary->cascade);
  ASSERT_EQ(from_binary->cascade->levels.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const CascadeLevel& read = from_binary->cascade->levels[i];
    const CascadeLevel& written = example.cascade->levels[i];
    EXPECT_EQ(read.rule, written.rule);
    EXPECT_EQ(read.temperature, written.temperature);
    EXPECT_EQ(read.upgrade_bytes, written.upgrade_bytes);
    EXPECT_EQ(read.plan.preload, written.plan.preload);
    EXPECT_EQ(read.plan.times.has_value(), written.plan.times.has_value());
  }
  EXPECT_EQ(from_json->cascade->return_share, example.cascade->return_share);
  EXPECT_EQ(from_json->cascade->quality.agreement, example.cascade->quality.agreement);
}

TEST(PlanFileCascade, WhatNoCascadeHasIsRefused) {
  test::ExpectDamageIsFound(EncodePlan(WithCascade()), test::StatusOf<ParsePlan>);
  const struct {
    void (*edit)(Plan&);
    const char* words;
  } cases[] = {
      {[](Plan& p) { p.cascade->levels.resize(3, p.cascade->levels[1]); }, "1 or 2 entries"},
      {[](Plan& p) { p.cascade->levels.clear(); }, "1 or 2 entries"},
      {[](Plan& p) { p.cascade->levels[0].rule.cutoff = 1.5; }, "cutoff is not from 0 to 1"}};
  for (const auto& c : cases) {
    Plan plan = WithCascade();
    c.edit(plan);
    for (const Status& status : {test::StatusOf<ParsePlan>(EncodePlan(plan)),
                                 test::StatusOf<ParsePlan>(AsBytes(PlanToJson(plan)))})
      EXPECT_TRUE(FailedWith(status, ErrorKind::kDamaged, c.words));
  }
  const std::string json = PlanToJson(WithCascade());
  test::ExpectRefused(json, "\"cutoff\"", "\"c\"", "cascade: levels[0]: cutoff is missing",
                      test::StatusOf<ParsePlan>);
  test::ExpectRefused(json, "\"return_share\"", "\"r\"", "cascade: return_share is missing",
                      test::StatusOf<ParsePlan>);
}

TEST(PlanFileCascade, ShardsAndExtentOfItsLevelsCount) {
  Plan plan = WithCascade();
  RunUniformly(std::vector<uint32_t>{0}, 3, 5, &plan.cascade->levels[1].plan);
  EXPECT_EQ(plan.Extent().width, 3u);
  const std::vector<Plan> plans = {plan};
  EXPECT_EQ(BitsOfPlans(plans), (std::vector<uint32_t>{2, 3, 5, 6, 32}));
  ModelShape shape;
  shape.layers = 5;
  shape.width = 4;
  const PartSelection selection = SelectForPlans(shape, plans);
  EXPECT_EQ(selection[2], PartSet::For(5));  // layer 0 slice 2, which the level alone runs
  EXPECT_EQ(selection[3], PartSet());
}

}  // namespace
}  // namespace sti
