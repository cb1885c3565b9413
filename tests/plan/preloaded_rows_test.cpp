// Plans that preload embedding rows of frequent words.
#include <gtest/gtest.h>

#include <vector>

#include "plan/judge.h"
#include "plan/planner.h"
#include "world.h"

namespace sti {
namespace {

using test::RequestFor;

/// Counts words that texts have in common: with `words` of them preloaded, so much is read of rows.
void CountWords(test::World& world) {
  world.use_importance = true;
  world.row_bytes = 1000;
  world.importance.model = test::Model();
  world.importance.metric = Metric::kLoss;
  world.importance.layers = world.info.shape.layers;
  world.importance.width = world.info.shape.width;
  world.importance.scores.assign(size_t{world.info.shape.layers} * world.info.shape.width, 0.5);
  world.importance.word_use.words = {9, 5, 7, 3};
  world.importance.word_use.reads = {{64, 0, 0.75, 1},      {64, 2, 0.25, 0.5},
                                     {64, 4, 0.25, 0.4375}, {128, 0, 0.5, 0.875},
                                     {128, 2, 0.5, 0.75},   {128, 4, 0.25, 0.6875}};
  world.profile.fixed.push_back({128, 1000, 10000, 1000, 1000, 16000, 1000});
}

TEST(PreloadedRows, RowsInMemoryTakeNoTimeAndTheirPlaceInTheBuffer) {
  test::World world = test::Odroid();
  CountWords(world);
  PlanRequest request = RequestFor(200e3);
  request.preload_bytes = 1000000;
  // Two words save a p99 of 2 ms, where 2,000 bytes of shards save 15 us; two more save 1 ms.
  auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_EQ(plan->words, (std::vector<uint32_t>{3, 5, 7, 9}));
  EXPECT_EQ(plan->times->embed_io_us, 2500);
  uint64_t shard_bytes = 0;
  for (const ShardAtBits& shard : plan->preload) shard_bytes += *world.catalog.BytesOf(shard);
  EXPECT_EQ(plan->preload_bytes, shard_bytes + 4000);
  EXPECT_LE(plan->preload_bytes, request.preload_bytes);
  const auto check = CheckPlan(world.input(), Judging(), *plan);
  ASSERT_TRUE(check.ok()) << check.error().Message();
  EXPECT_TRUE(check->valid);
  EXPECT_EQ(check->p99_us, plan->predicted_p99_us);
  EXPECT_EQ(check->preload_bytes, plan->preload_bytes);

  // Whoever judges the plan needs no importance for that.
  world.use_importance = false;
  const auto alone = CheckPlan(world.input(), Judging(), *plan);
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone->p99_us, plan->predicted_p99_us);
  world.use_importance = true;

  // Rows whose bytes save more as shards stay out, and a buffer too small for them has none.
  world.row_bytes = 500000;
  EXPECT_TRUE(MakePlan(world.input(), request)->words.empty());
  world.row_bytes = 1000;
  request.preload_bytes = 2500;
  EXPECT_EQ(MakePlan(world.input(), request)->words, (std::vector<uint32_t>{5, 9}));
  request.preload_bytes = 0;
  plan = MakePlan(world.input(), request);
  EXPECT_TRUE(plan->words.empty());
  EXPECT_EQ(plan->times->embed_io_us, 5000) << "recent texts leave rows in any case";
}

TEST(PreloadedRows, VariantsShareTheRowsOfThePlan) {
  test::World world = test::Odroid();
  CountWords(world);
  for (const ComputeSample& sample : std::vector<ComputeSample>(world.profile.compute))
    world.profile.compute.push_back(
        {96, sample.width, sample.layer_us / 2, sample.layer_us / 2, 0});
  PlanRequest request = RequestFor(200e3);
  request.preload_bytes = 1000000;
  request.further_lengths = {96};
  const auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  ASSERT_EQ(plan->variants.size(), 1U);
  EXPECT_EQ(plan->words.size(), 4U);
  // Between 64 and 128 tokens the larger share counts for 96.
  EXPECT_EQ(plan->variants[0].times->embed_io_us, 2500);
  const auto verdicts = JudgePlan(world.input(), Judging(), *plan);
  ASSERT_TRUE(verdicts.ok()) << verdicts.error().Message();
  EXPECT_EQ(verdicts->problem(), "");
  EXPECT_EQ(verdicts->variants[0].p99_us, plan->variants[0].predicted_p99_us);
}

TEST(PreloadedRows, AGuaranteeHasWordsThatItsFallbackKnows) {
  test::World world = test::Odroid();
  CountWords(world);
  PlanRequest request = RequestFor(400e3);
  request.preload_bytes = 2000000;
  request.mode = PlanRequest::Guaranteed{};
  auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  ASSERT_TRUE(plan->fallback);
  EXPECT_EQ(plan->words.size(), 4U);
  EXPECT_LE(plan->preload_bytes + plan->fallback->bytes, request.preload_bytes);
  // As many words as an eighth of the buffer holds, whatever their time is worth.
  world.row_bytes = 120000;
  plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_EQ(plan->words.size(), 2U);
  EXPECT_LE(plan->preload_bytes + plan->fallback->bytes, request.preload_bytes);
}

TEST(PreloadedRows, WhereNoWordsWereCountedAFallbackKnowsCommonOnes) {
  test::World world = test::Odroid();
  world.row_bytes = 1000;
  world.common_words = {9, 5, 7, 3};
  PlanRequest request = RequestFor(400e3);
  request.preload_bytes = 2000000;
  EXPECT_TRUE(MakePlan(world.input(), request)->words.empty()) << "what they save is not known";
  request.mode = PlanRequest::Guaranteed{};
  auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  ASSERT_TRUE(plan->fallback);
  EXPECT_EQ(plan->words, (std::vector<uint32_t>{3, 5, 7, 9}));
  EXPECT_LE(plan->preload_bytes + plan->fallback->bytes, request.preload_bytes);
  const auto check = CheckPlan(world.input(), Judging(), *plan);
  ASSERT_TRUE(check.ok()) << check.error().Message();
  EXPECT_TRUE(check->valid);
  // The first of them, where an eighth of the buffer does not hold all.
  world.row_bytes = 120000;
  plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_EQ(plan->words, (std::vector<uint32_t>{5, 9}));
  // Counted words are better known.
  CountWords(world);
  world.importance.word_use.words = {8, 2, 4, 6};
  plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_EQ(plan->words, (std::vector<uint32_t>{2, 4, 6, 8}));
}

TEST(PreloadedRows, ColdStartsAndOtherStrategiesPreloadNoRows) {
  test::World world = test::Odroid();
  CountWords(world);
  PlanRequest request = RequestFor(400e3, Strategy::kStdpl);
  const auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_TRUE(plan->words.empty());
  request = RequestFor(400e3);
  request.preload_bytes = 1000000;
  request.mode = PlanRequest::Turns{2};
  const auto turns = MakePlan(world.input(), request);
  ASSERT_TRUE(turns.ok()) << turns.error().Message();
  EXPECT_TRUE(turns->words.empty());
}

}  // namespace
}  // namespace sti
