// Where a pipeline could compute with bytes that are not its own, or refuse what it could run.
#include <algorithm>
#include <chrono>
#include <memory>

#include "faulty_pipeline.h"
#include "schedule/load_schedule.h"

namespace sti {
namespace {

using namespace std::chrono_literals;

class HardCases : public FaultyPipelineTest {
 protected:
  uint64_t LeastStaging(const Plan& plan) {
    for (uint64_t bytes = kBlockBytes;; bytes += kBlockBytes) {
      PipelineOptions options;
      options.staging_bytes = bytes;
      if (Make(plan, options).ok()) return bytes;
    }
  }
};

// Planes lie in the block where their base ends. A read of them that comes torn there must not
// reach the base that is held.
TEST_F(HardCases, APlaneReadDoesNotTouchTheBaseThatIsHeld) {
  Plan plan = WithPreload(WholeAt(2), 20);
  plan.turns.resize(3);
  plan.turns[0].bits = plan.bits;
  plan.turns[0].preload = plan.turns[1].preload = plan.preload;
  plan.turns[1].bits = plan.turns[2].bits = WholeAt(6).bits;
  plan.turns[2].preload = WithPreload(WholeAt(6), 20).preload;
  const auto expected = Logits(WholeAt(6));
  for (const FaultKind kind : {FaultKind::kTorn, FaultKind::kError}) {
    Open(plan);
    ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, kTextIds, kTextTypes)));
    const PartLocation& base = index_.shard({1, 1}).parts[PartKind::kBase];
    faults_->Inject({kind, base.offset + base.length - 16, 16, 1, 0us, {}});
    const auto second = RunTokens(*pipeline_, kTextIds, kTextTypes);
    EXPECT_EQ(faults_->injected(), 1U);
    if (second.ok()) {
      EXPECT_EQ(second->values, expected);
    }
    faults_->Heal();
    for (int turn = 0; turn < 2; ++turn) {
      const auto next = RunTokens(*pipeline_, kTextIds, kTextTypes);
      ASSERT_TRUE(Succeeded(next));
      EXPECT_EQ(next->values, expected);
    }
  }
}

TEST_F(HardCases, ALateReadThatWasToStayHarmsNoLaterRun) {
  // FaultReader returns nothing while it holds a read back, and the lane begins none: neither other
  // bases of the layer nor, if the lane is that far ahead, the embedding rows. So reads come one at
  // a time, the late one last, and there is room for it only after a layer has been computed.
  Plan plan = Timed(WholeAt(2));
  plan.turns.resize(2);
  plan.turns[0].bits = plan.turns[1].bits = plan.bits;
  plan.turns[1].preload = {{4, 0, 2}, {4, 1, 2}, {4, 2, 2}, {4, 3, 2}};
  plan.read_depth = 1;
  PipelineOptions options;
  options.staging_bytes = LeastStaging(plan);
  Open(plan, options);
  Plan undisturbed = WholeAt(2);
  undisturbed.read_depth = 1;
  const auto expected = Logits(undisturbed);
  const PartLocation& base = index_.shard({4, 3}).parts[PartKind::kBase];
  faults_->Inject(Hanging(base));
  faults_->Inject({FaultKind::kTorn, base.offset, base.length, 2, 0us, {}});
  RunTerms terms;
  RunResult result;
  terms.degrade_for_us = 2.5e6;  // in which all other reads come, on a busy machine too
  ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, kTextIds, kTextTypes, terms, &result)));
  EXPECT_FALSE(result.degraded.empty());
  door_.Open();
  terms.degrade_for_us = 60e6;
  for (int run = 0; run < 5; ++run) {
    ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, kTextIds, kTextTypes, terms, &result)));
    EXPECT_TRUE(result.degraded.empty());
    EXPECT_EQ(result.values, expected) << run;
  }
}

// A plan that counts on all reads before its first layer runs with room for one layer, too.
TEST_F(HardCases, ReadsBeforeComputingAreAsManyAsThereIsRoomFor) {
  Plan plan = WholeAt(3);
  const auto expected = Logits(plan);
  plan.strategy = Strategy::kLoadExec;
  const uint64_t least = LeastStaging(plan);
  for (const uint64_t more : {0, 4, 8}) {
    PipelineOptions options;
    options.staging_bytes = least + more * kBlockBytes;
    auto pipeline = Make(plan, options);
    ASSERT_TRUE(Succeeded(pipeline));
    const auto result = RunTokens(**pipeline, kTextIds, kTextTypes);
    ASSERT_TRUE(Succeeded(result));
    EXPECT_EQ(result->values, expected) << more;
    EXPECT_GT((*pipeline)->status().schedule->read_bytes, options.staging_bytes);
  }
}

// Room for the next layer's reads comes from a layer that is computed, at any moment of the lane:
// one that misses it waits for ever.
TEST_F(HardCases, ALaneNeverMissesTheRoomThatALayerLeaves) {
  const Plan plan = WholeAt(3);
  PipelineOptions options;
  options.staging_bytes = LeastStaging(plan);
  options.keep_rows = false;
  auto pipeline = Make(plan, options);
  ASSERT_TRUE(Succeeded(pipeline));
  for (int run = 0; run < 1000; ++run)
    ASSERT_TRUE(Succeeded(RunTokens(**pipeline, kTextIds, kTextTypes)));
}

TEST_F(HardCases, NoReadIsLongerThanThePlanSays) {
  Plan plan = WholeAt(6);
  const auto longest = [&] {
    auto pipeline = Make(plan);
    EXPECT_TRUE(Succeeded(pipeline));
    EXPECT_TRUE(Succeeded(RunTokens(**pipeline, kTextIds, kTextTypes)));
    uint64_t bytes = 0;
    for (const ScheduledRead& read : (*pipeline)->status().schedule->reads)
      bytes = std::max(bytes, read.length);
    return bytes;
  };
  const uint64_t free = longest();
  plan.read_bytes = static_cast<uint32_t>(free / 2);
  EXPECT_LE(longest(), free / 2);
}

TEST_F(HardCases, APlansOwnStagingDoesNotRefuseWhatAppsChange) {
  Plan plan = Timed(WithPreload(WholeAt(6), 18));
  plan.staging_bytes = LeastStaging(plan);
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  const auto before = RunTokens(**pipeline, kTextIds, kTextTypes);
  ASSERT_TRUE(Succeeded(before));
  EXPECT_LE((*pipeline)->status().staging_bytes, plan.staging_bytes);
  RunTerms terms;
  terms.degrade_for_us = 60e6;
  RunResult result;
  ASSERT_TRUE(Succeeded(RunTokens(**pipeline, kTextIds, kTextTypes, terms, &result)));
  EXPECT_EQ(result.values, before->values);
  ASSERT_TRUE(Succeeded((*pipeline)->ResizePreload(0)));
  const auto after = RunTokens(**pipeline, kTextIds, kTextTypes);
  ASSERT_TRUE(Succeeded(after));
  EXPECT_EQ(after->values, before->values);
}

TEST_F(HardCases, ATurnThatNeedsMoreMemoryThanThereIsBecomesTheFirst) {
  Plan plan = WholeAt(2);
  plan.turns.resize(2);
  plan.turns[0].bits = plan.bits;
  plan.turns[1].bits = WholeAt(32).bits;
  PipelineOptions options;
  options.staging_bytes = LeastStaging(plan);
  auto pipeline = Make(plan, options);
  ASSERT_TRUE(Succeeded(pipeline));
  for (int turn = 0; turn < 4; ++turn) {
    const auto result = RunTokens(**pipeline, kTextIds, kTextTypes);
    ASSERT_TRUE(Succeeded(result));
    EXPECT_EQ(result->values, Logits(WholeAt(2)));
    EXPECT_TRUE(result->degraded.empty());
    if (turn == 2) {
      ASSERT_TRUE(Succeeded((*pipeline)->EndTurns()));
    }
  }
}

TEST_F(HardCases, AfterAPlanThatCouldNotBeLoadedRunsAreSound) {
  Plan small = WholeAt(2);
  small.length = 8;
  Open(small);
  const Plan big = WithPreload(WholeAt(6), 20);
  faults_->Inject({});
  EXPECT_TRUE(FailedWith(pipeline_->SetPlan(big), ErrorKind::kReadFailed));
  faults_->Heal();
  Ids ids(pipeline_->status().max_length);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<uint32_t>(i % 40);
  EXPECT_TRUE(Succeeded(RunTokens(*pipeline_, ids, Ids(ids.size(), 0))));
  ASSERT_TRUE(Succeeded(pipeline_->SetPlan(big)));
  EXPECT_EQ(RunTokens(*pipeline_, kTextIds, kTextTypes)->values, Logits(big));
}

TEST_F(HardCases, TheBufferOfAVariantThatStandsInCanBeResized) {
  Plan plan = WithPreload(WholeAt(2), 8);
  plan.freq = 2000000;
  Plan variant = plan;
  variant.freq = 1000000;
  plan.variants = {variant};
  PipelineOptions options;
  options.clock_khz = 1000000;
  auto pipeline = Make(plan, options);
  ASSERT_TRUE(Succeeded(pipeline));
  const uint64_t before = (*pipeline)->status().preload_bytes;
  ASSERT_TRUE(Succeeded((*pipeline)->ResizePreload(1 << 20)));
  EXPECT_GT((*pipeline)->status().preload_bytes, before);
}

TEST_F(HardCases, NoDeadlineIsTooFarAway) {
  auto pipeline = Make(Timed(WholeAt(6)));
  ASSERT_TRUE(Succeeded(pipeline));
  RunTerms terms;
  RunResult result;
  for (const double deadline_us : {60e6, 1e15, 1e16, 1e300}) {
    terms.degrade_for_us = deadline_us;
    ASSERT_TRUE(Succeeded(RunTokens(**pipeline, kTextIds, kTextTypes, terms, &result)));
    EXPECT_TRUE(result.degraded.empty()) << deadline_us;
  }
}

}  // namespace
}  // namespace sti
