// Back-to-back turns, and what changes between inputs: the buffer's size, the plan.
#include <algorithm>
#include <memory>

#include "pipeline_world.h"
#include "schedule/load_schedule.h"
#include "support/memory_meter.h"
#include "support/sanitizers.h"

namespace sti {
namespace {

class Turns : public PipelineTest {
 protected:
  std::vector<float> LogitsAt(const Plan& plan, const Grid<uint32_t>& bits) {
    Plan alone = plan;
    alone.turns.clear();
    alone.preload.clear();
    alone.bits = bits;
    return Logits(alone);
  }
  uint64_t BytesOf(const std::vector<ShardAtBits>& shards) const {
    const ShardCatalog catalog = CatalogOf(index_);
    uint64_t bytes = 0;
    for (const ShardAtBits& shard : shards) bytes += *catalog.BytesOf(shard);
    return bytes;
  }
};

TEST_F(Turns, EachTurnComputesAtItsBitsAndHoldsWhatTheNextBeginsWith) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    TestRandom random(seed);
    const Plan plan = WithTurns(WithPreload(WholeAt(2), random.Below(8)), 4, random);
    auto pipeline = Make(plan);
    ASSERT_TRUE(Succeeded(pipeline));
    for (int engagement = 0; engagement < 2; ++engagement) {
      for (size_t turn = 0; turn < 6; ++turn) {
        const size_t planned = std::min<size_t>(turn, 3);
        const auto result = RunTokens(**pipeline, kTextIds, kTextTypes);
        ASSERT_TRUE(Succeeded(result));
        EXPECT_EQ(result->turn, planned + 1);
        EXPECT_EQ(result->values, LogitsAt(plan, plan.turns[planned].bits)) << seed;
        const size_t next = std::min<size_t>(turn + 1, 3);
        EXPECT_EQ((*pipeline)->status().preload_bytes, BytesOf(plan.turns[next].preload)) << seed;
      }
      ASSERT_TRUE(Succeeded((*pipeline)->EndTurns()));
      EXPECT_LE((*pipeline)->status().preload_bytes, BytesOf(plan.preload));
    }
  }
}

TEST_F(Turns, TheSecondTurnReadsOnlyMissingPlanes) {
  Plan plan = WholeAt(3);
  plan.turns.resize(2);
  plan.turns[0].bits = plan.turns[1].bits = plan.bits;
  plan.turns[1].bits.At(0, 0) = 4;
  for (uint32_t slice = 0; slice < 4; ++slice) plan.turns[1].preload.push_back({0, slice, 3});
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  const auto first = RunTokens(**pipeline, kTextIds, kTextTypes);
  const auto second = RunTokens(**pipeline, kTextIds, kTextTypes);
  ASSERT_TRUE(Succeeded(first) && Succeeded(second));
  EXPECT_LT(second->bytes_read, first->bytes_read);
  uint64_t of_layer_0 = 0;
  for (const ScheduledRead& read : (*pipeline)->status().schedule->reads) {
    if (read.group != 0) continue;
    of_layer_0 += read.length;
    for (uint32_t i = read.first_part; i < read.first_part + read.parts; ++i)
      EXPECT_EQ((*pipeline)->status().schedule->parts[i].kind, PartKind::kPlane4);
  }
  EXPECT_GT(of_layer_0, 0U);
  EXPECT_EQ(second->values, LogitsAt(plan, plan.turns[1].bits));
}

TEST_F(Turns, ABoundedArenaAndThreadsChangeNothing) {
  TestRandom random(3);
  const Plan plan = WithTurns(WithPreload(WholeAt(2), 3), 4, random);
  auto whole = Make(plan);
  PipelineOptions small;
  small.staging_bytes = 20 * 4096;
  small.threads = 3;
  auto bounded = Make(plan, small);
  ASSERT_TRUE(Succeeded(whole) && Succeeded(bounded));
  for (int turn = 0; turn < 6; ++turn) {
    const auto expected = RunTokens(**whole, kTextIds, kTextTypes);
    const auto seen = RunTokens(**bounded, kTextIds, kTextTypes);
    ASSERT_TRUE(Succeeded(expected) && Succeeded(seen));
    EXPECT_EQ(seen->values, expected->values);
    EXPECT_LE((*bounded)->status().staging_bytes, small.staging_bytes);
  }
}

TEST_F(Turns, ATurnThatDoesNotFitTheModelIsRefused) {
  TestRandom random(1);
  const Plan plan = WithTurns(WholeAt(2), 3, random);
  const auto refused = [&](const std::function<void(PlanTurn&)>& edit) {
    Plan edited = plan;
    edit(edited.turns[2]);
    return FailedWith(Make(edited), ErrorKind::kDamaged, "turns[2]");
  };
  EXPECT_TRUE(refused([](PlanTurn& turn) { turn.bits.At(1, 1) = 7; }));
  EXPECT_TRUE(refused([](PlanTurn& turn) { turn.bits = Grid<uint32_t>(4, 4, 6); }));
  EXPECT_TRUE(refused([](PlanTurn& turn) { turn.preload = {{9, 0, 2}}; }));
  EXPECT_TRUE(refused([](PlanTurn& turn) { turn.preload = {{0, 0, 6}}; }));
  EXPECT_TRUE(refused([](PlanTurn& turn) { turn.preload = {{0, 0, 2}, {0, 0, 2}}; }));
}

TEST_F(Turns, TheBufferIsNeverLargerThanItWasBoundedTo) {
  const Plan plan = WithPreload(Mixed(), 3);
  const auto expected = Logits(plan);
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  uint64_t most = 0;
  TestRandom random(7);
  for (int step = 0; step < 40; ++step) {
    const uint64_t bytes = random.Below(60) * 4096;
    ASSERT_TRUE(Succeeded((*pipeline)->ResizePreload(bytes)));
    EXPECT_LE((*pipeline)->status().preload_bytes, bytes);
    most = std::max(most, (*pipeline)->status().preload_bytes);
    const auto result = RunTokens(**pipeline, kTextIds, kTextTypes);
    ASSERT_TRUE(Succeeded(result));
    EXPECT_EQ(result->values, expected) << bytes;
    EXPECT_LE((*pipeline)->status().preload_bytes, bytes) << "after a run too";
  }
  EXPECT_GT(most, 20U * 4096) << "it grows beyond the plan's";
  ASSERT_TRUE(Succeeded((*pipeline)->ResizePreload(0)));
  EXPECT_EQ((*pipeline)->status().preload_bytes, 0U);
}

TEST_F(Turns, AnotherPlanBetweenInputs) {
  const Plan a = WithPreload(Mixed(), 5);
  Plan b = WithPreload(WholeAt(6), 9);
  b.variants = {};
  Plan c = WholeAt(2);
  auto pipeline = Make(a);
  ASSERT_TRUE(Succeeded(pipeline));
  for (const Plan& plan : {b, c, a, b, a}) {
    ASSERT_TRUE(Succeeded((*pipeline)->SetPlan(plan)));
    const auto result = RunTokens(**pipeline, kTextIds, kTextTypes);
    ASSERT_TRUE(Succeeded(result));
    EXPECT_EQ(result->values, Logits(plan));
    EXPECT_EQ((*pipeline)->status().preload_bytes, BytesOf(plan.preload));
  }
  Plan foreign = a;
  foreign.layers.back() = 77;
  EXPECT_TRUE(FailedWith((*pipeline)->SetPlan(foreign), ErrorKind::kForeign, "layer 77"));
  const auto after = RunTokens(**pipeline, kTextIds, kTextTypes);
  ASSERT_TRUE(Succeeded(after));
  EXPECT_EQ(after->values, Logits(a)) << "the plan before stays in force";
}

TEST_F(Turns, ALazyPipelineLoadsInOrderOfNeedAndAnswersTheSame) {
  const Plan plan = WithPreload(Mixed(), 4);
  PipelineOptions lazy;
  lazy.lazy = true;
  auto pipeline = Make(plan, lazy);
  ASSERT_TRUE(Succeeded(pipeline));
  EXPECT_EQ((*pipeline)->status().preload_bytes, 0U);
  const auto first = RunTokens(**pipeline, kTextIds, kTextTypes);
  ASSERT_TRUE(Succeeded(first));
  EXPECT_EQ(first->values, Logits(plan));
  const LoadSchedule cold = (*(*pipeline)->status().schedule);
  size_t parameters = 0;
  for (const ScheduledPart& part : cold.parts) {
    if (part.kind) continue;
    ++parameters;
    EXPECT_EQ(part.group, !part.layer ? 4U : parameters - 1);
  }
  EXPECT_EQ(parameters, 5U);
  EXPECT_EQ((*pipeline)->status().preload_bytes, BytesOf(plan.preload));
  const auto second = RunTokens(**pipeline, kTextIds, kTextTypes);
  ASSERT_TRUE(Succeeded(second));
  EXPECT_EQ(second->values, first->values);
  EXPECT_LT(second->bytes_read, first->bytes_read);
  ASSERT_TRUE(Succeeded((*pipeline)->LoadAhead()));
}

TEST_F(Turns, WokenRunsAnswerTheSame) {
  Plan plan = WithPreload(Mixed(), 2);
  Plan narrow = WholeAt(kFullBits);
  narrow.length = 4;
  plan.variants = {narrow};
  const Ids short_ids{2, 5, 3};
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  const auto expected = RunTokens(**pipeline, kTextIds, kTextTypes);
  const auto expected_short = RunTokens(**pipeline, short_ids, Ids(3, 0));
  ASSERT_TRUE(Succeeded(expected) && Succeeded(expected_short));
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Succeeded((*pipeline)->Wake()));
    if (i % 5 == 0) {
      ASSERT_TRUE(Succeeded((*pipeline)->Wake()));
    }
    const bool other = i % 3 == 0;  // what was woken is not what comes
    const auto result = other ? RunTokens(**pipeline, short_ids, Ids(3, 0))
                              : RunTokens(**pipeline, kTextIds, kTextTypes);
    ASSERT_TRUE(Succeeded(result));
    EXPECT_EQ(result->values, other ? expected_short->values : expected->values);
  }
}

TEST_F(Turns, RunsAllocateNothing) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's operator new is not counted";
  for (const bool degrade : {false, true}) {
    Plan plan = WithPreload(Mixed(), 4);
    plan.times = PlanTimes{};
    plan.times->layer_io_us.assign(plan.layers.size(), 1);
    PipelineOptions options;
    options.threads = 2;
    options.staging_bytes = 40 * 4096;
    auto pipeline = Make(plan, options);
    ASSERT_TRUE(Succeeded(pipeline));
    RunTerms terms;
    if (degrade) terms.degrade_for_us = 60e6;
    RunResult result;
    for (int run = 0; run < 3; ++run)
      ASSERT_TRUE(Succeeded(RunTokens(**pipeline, kTextIds, kTextTypes, terms, &result)));
    const MemoryMeter meter;
    for (int run = 0; run < 20; ++run)
      ASSERT_TRUE(Succeeded(RunTokens(**pipeline, kTextIds, kTextTypes, terms, &result)));
    EXPECT_EQ(meter.peak_bytes(), 0U) << "degrade " << degrade;
  }
}

}  // namespace
}  // namespace sti
