// Tests of what is in memory between runs, and of what the next run reads because of it. Logits do
// not tell: they are right whatever was kept.
#include <algorithm>
#include <chrono>
#include <thread>

#include "faulty_pipeline.h"
#include "model/embedding_rows.h"
#include "schedule/load_schedule.h"
#include "support/locked_bytes.h"
#include "support/sanitizers.h"

namespace sti {
namespace {

using namespace std::chrono_literals;

using Shards = std::vector<ShardAtBits>;

class BetweenRuns : public FaultyPipelineTest {
 protected:
  RunResult Run(const Ids& ids = kTextIds, const Ids& types = kTextTypes) {
    auto result = RunTokens(*pipeline_, ids, types);
    EXPECT_TRUE(Succeeded(result));
    return result.ok() ? *result : RunResult{};
  }
  [[nodiscard]] uint64_t BytesOf(const Shards& shards) const {
    const ShardCatalog catalog = CatalogOf(index_);
    uint64_t bytes = 0;
    for (const ShardAtBits& shard : shards) bytes += *catalog.BytesOf(shard);
    return bytes;
  }
  /// The parts of a shard that the last run read.
  [[nodiscard]] PartSet PartsRead(ShardId id) const {
    PartSet parts;
    const LoadSchedule& schedule = (*pipeline_->status().schedule);
    for (const ScheduledPart& part : schedule.parts) {
      const ShardRequest& shard = schedule.requests[part.request];
      if (part.kind && shard.id == id) parts = parts.With(*part.kind);
    }
    return parts;
  }
  /// Three turns at 2, 3 and 4 bits, which begin with none, four and eight shards.
  [[nodiscard]] Plan ThreeTurns() const {
    Plan plan = WholeAt(2);
    plan.turns.resize(3);
    for (uint32_t turn = 0; turn < 3; ++turn) {
      plan.turns[turn].bits = WholeAt(2 + turn).bits;
      if (turn > 0) plan.turns[turn].preload = WithPreload(WholeAt(1 + turn), 4 * turn).preload;
    }
    return plan;
  }
};

TEST_F(BetweenRuns, ABoundedBufferHoldsTheLowestShards) {
  const Plan plan = Mixed();
  Open(plan);
  for (size_t count = 0; count <= 12; ++count) {
    const Shards lowest = WithPreload(plan, count).preload;
    ASSERT_TRUE(Succeeded(pipeline_->ResizePreload(BytesOf(lowest))));
    EXPECT_EQ(pipeline_->status().preload_bytes, BytesOf(lowest));
    Run();
    for (const ShardAtBits& shard : WithPreload(plan, 12).preload) {
      const bool held = std::find(lowest.begin(), lowest.end(), shard) != lowest.end();
      EXPECT_EQ(PartsRead(shard.id).empty(), held) << NameOf(shard) << " of " << count;
    }
    EXPECT_EQ(pipeline_->status().preload_bytes, BytesOf(lowest));
  }
}

TEST_F(BetweenRuns, EndTurnsLeavesABufferAloneThatTheAppHasBounded) {
  Open(ThreeTurns());
  ASSERT_TRUE(Succeeded(pipeline_->ResizePreload(1 << 20)));
  Run();
  const uint64_t bytes = pipeline_->status().preload_bytes;
  EXPECT_GT(bytes, 0U);
  ASSERT_TRUE(Succeeded(pipeline_->EndTurns()));
  EXPECT_EQ(pipeline_->status().preload_bytes, bytes);
}

TEST_F(BetweenRuns, WakeKeepsWhatTheNextTurnBeginsWith) {
  const Plan plan = ThreeTurns();
  PipelineOptions options;
  options.keep_rows = false;
  Open(plan, options);
  for (const uint32_t turn : {0, 1, 2, 2}) {
    EXPECT_EQ(pipeline_->status().preload_bytes, BytesOf(plan.turns[turn].preload));
    const uint64_t reads = faults_->reads();
    ASSERT_TRUE(Succeeded(pipeline_->Wake()));
    EXPECT_EQ(pipeline_->status().lane, LaneState::kWoken);
    while (faults_->reads() == reads) std::this_thread::yield();
    EXPECT_EQ(Run().turn, turn + 1);
    EXPECT_EQ(pipeline_->status().lane, LaneState::kIdle);
    const EmbeddingReads rows =
        PlanEmbeddingReads(index_, kTextIds, static_cast<uint32_t>(kTextIds.size()));
    EXPECT_EQ(faults_->reads() - reads,
              pipeline_->status().schedule->reads.size() + rows.ranges.size())
        << "the run goes on with the reads of the lead";
  }
}

// Shards that were begun first would delay the rows, which all computation waits for, by as much as
// may be in flight.
TEST_F(BetweenRuns, ARunOfATextBeginsNoReadBeforeItsRows) {
  Open(WholeAt(4));
  PassOutput output;
  RunReport report;
  const Pass text{TokenInput{kTextIds, kTextTypes}, {}};
  const uint64_t before = faults_->reads();
  auto run = pipeline_->Begin(text, {}, &output, &report);
  ASSERT_TRUE(Succeeded(run));
  std::this_thread::sleep_for(20ms);  // in which the lane would have begun what it may
  EXPECT_EQ(faults_->reads(), before);
  ASSERT_TRUE(Succeeded((*run)->Embed(text)));
  EXPECT_GT(faults_->reads(), before);
  ASSERT_TRUE(Succeeded((*run)->Layers(0, (*run)->layers())));
  ASSERT_TRUE(Succeeded(pipeline_->End((*run)->Finish())));
  EXPECT_LE(report.embeddings_io_begin_us, report.layers.front().io_begin_us);

  // Hidden rows need none.
  const std::vector<float> rows(size_t{index_.info.shape.hidden} * 3, 0.5F);
  const Pass hidden{HiddenInput{rows}, {}};
  const uint64_t again = faults_->reads();
  run = pipeline_->Begin(hidden, {}, &output, &report);
  ASSERT_TRUE(Succeeded(run));
  while (faults_->reads() == again) std::this_thread::yield();
  ASSERT_TRUE(Succeeded((*run)->Embed(hidden)));
  ASSERT_TRUE(Succeeded((*run)->Layers(0, (*run)->layers())));
  ASSERT_TRUE(Succeeded(pipeline_->End((*run)->Finish())));
}

// With a lead that is long enough all shards are there when the text comes. A run that waits for
// the device takes its delay at least, so one that takes less has not waited: where the machine is
// busy with something else, one of many.
TEST_F(BetweenRuns, ALeadMovesReadsBeforeTheInputAndSavesTheirTime) {
  constexpr auto kDelay = 100ms;
  PipelineOptions options;
  options.keep_rows = false;
  Open(WholeAt(4), options);
  constexpr double delay_us = std::chrono::duration<double, std::micro>(kDelay).count();
  double woken_us = 1e9;
  for (int run = 0; run == 0 || (woken_us >= delay_us && run < 30); ++run) {
    faults_->Inject({.kind = FaultKind::kDelay, .delay = kDelay});
    const RunResult asleep = Run();
    for (const LayerTrace& layer : asleep.layers) EXPECT_GE(layer.io_begin_us, 0);
    EXPECT_GE(asleep.latency_us, delay_us);

    const uint64_t begun = faults_->reads();
    ASSERT_TRUE(Succeeded(pipeline_->Wake()));
    const size_t shards = pipeline_->status().schedule->reads.size();
    while (faults_->reads() < begun + shards) std::this_thread::yield();
    std::this_thread::sleep_for(2 * kDelay);
    faults_->Heal();
    const RunResult woken = Run();
    for (const LayerTrace& layer : woken.layers) EXPECT_LT(layer.io_begin_us, 0);
    const EmbeddingReads rows =
        PlanEmbeddingReads(index_, kTextIds, static_cast<uint32_t>(kTextIds.size()));
    EXPECT_EQ(faults_->reads(), begun + shards + rows.ranges.size()) << "the run reads rows alone";
    EXPECT_EQ(woken.bytes_read, asleep.bytes_read);
    woken_us = std::min(woken_us, woken.latency_us);
  }
  EXPECT_LT(woken_us, delay_us);
}

TEST_F(BetweenRuns, ARunUnderAVariantIsNoTurn) {
  Plan plan = ThreeTurns();
  Plan variant = WholeAt(6);
  variant.length = 4;
  plan.variants = {variant};
  Open(plan);
  EXPECT_EQ(Run({2, 5, 3}, {0, 0, 0}).turn, 1U);
  EXPECT_EQ(Run({2, 5, 3}, {0, 0, 0}).turn, 1U);
  EXPECT_EQ(Run().turn, 1U);
  EXPECT_EQ(Run().turn, 2U);
}

TEST_F(BetweenRuns, AnotherPlanBeginsWithTurnOneAndNoDrift) {
  const Plan plan = Timed(ThreeTurns());
  Open(plan);
  for (size_t run = 0; run < DriftWatch::kRuns; ++run) Run(Ids(32, 5), Ids(32, 0));
  EXPECT_TRUE(pipeline_->drift().Now().has_value());
  ASSERT_TRUE(Succeeded(pipeline_->SetPlan(plan)));
  EXPECT_FALSE(pipeline_->drift().Now().has_value());
  EXPECT_EQ(Run().turn, 1U);
}

// Reads are compared with the plan's in its first turn alone, and while the buffer holds what the
// plan counts on: others read more or less.
TEST_F(BetweenRuns, OnlyReadsThatThePlanCountsOnTellOfSlowFlash) {
  const auto io_ratio = [&](const Plan& plan, std::optional<uint64_t> preload_bytes) {
    Open(Timed(plan, 1e-3, 1e-3));
    if (preload_bytes) {
      EXPECT_TRUE(Succeeded(pipeline_->ResizePreload(*preload_bytes)));
    }
    for (size_t run = 0; run < 2 * DriftWatch::kRuns; ++run) Run(Ids(32, 5), Ids(32, 0));
    return pipeline_->drift().Now()->io_ratio;
  };
  EXPECT_GT(io_ratio(WithPreload(WholeAt(2), 4), {}), 2);
  EXPECT_EQ(io_ratio(ThreeTurns(), {}), 1);
  EXPECT_EQ(io_ratio(WithPreload(WholeAt(2), 4), 0), 1);
}

TEST_F(BetweenRuns, AWokenLaneIsWaitedForWhereARunWantsOtherReads) {
  Open(Timed(WithPreload(WholeAt(4), 4)));
  faults_->Inject({.kind = FaultKind::kDelay, .times = 2, .delay = 100ms});
  ASSERT_TRUE(Succeeded(pipeline_->Wake()));
  while (faults_->injected() == 0) std::this_thread::yield();
  EXPECT_TRUE(Succeeded(pipeline_->ResizePreload(0)));
  EXPECT_EQ(Run().values, DirectLogits(path_, WholeAt(4)));
}

// Reads of a degraded run took their time too. The plan counts on reads of no time to speak of,
// each takes 20 ms.
TEST_F(BetweenRuns, DegradedRunsShowSlowReads) {
  Open(Timed(WholeAt(2), 2000, 1));
  faults_->Inject({.kind = FaultKind::kDelay, .delay = 20ms});
  RunTerms terms;
  terms.degrade_for_us = 50e3;
  RunResult result;
  size_t degraded = 0;
  for (size_t run = 0; run < DriftWatch::kLeastRuns; ++run) {
    EXPECT_FALSE(pipeline_->drift().Now().has_value());
    ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, Ids(32, 5), Ids(32, 0), terms, &result)));
    degraded += result.degraded.empty() ? 0 : 1;
    ASSERT_TRUE(Succeeded(pipeline_->FinishReads()));
  }
  EXPECT_GT(degraded, 0U);
  ASSERT_TRUE(pipeline_->drift().Now().has_value());
  EXPECT_GT(pipeline_->drift().Now()->io_ratio, 100);
}

TEST_F(BetweenRuns, ShortInputsSayNothingOfAPlanForLongOnes) {
  Open(Timed(WholeAt(2), 1e-3, 1e-3));
  for (size_t run = 0; run < 2 * DriftWatch::kRuns; ++run) Run(Ids(16, 5), Ids(16, 0));
  EXPECT_FALSE(pipeline_->drift().Now().has_value());
  for (size_t run = 0; run < DriftWatch::kLeastRuns; ++run) Run(Ids(24, 5), Ids(24, 0));
  ASSERT_TRUE(pipeline_->drift().Now().has_value());
  EXPECT_GT(pipeline_->drift().Now()->compute_ratio, 2);
}

TEST_F(BetweenRuns, AnotherPlanTakesNoMoreStagingThanItNeeds) {
  Open(WholeAt(2));
  Run();
  const uint64_t least = pipeline_->status().staging_bytes;
  ASSERT_TRUE(Succeeded(pipeline_->SetPlan(WholeAt(kFullBits))));
  Run();
  EXPECT_GT(pipeline_->status().staging_bytes, least);
  ASSERT_TRUE(Succeeded(pipeline_->SetPlan(WholeAt(2))));
  Run();
  EXPECT_EQ(pipeline_->status().staging_bytes, least);
}

TEST_F(BetweenRuns, AnotherClockTakesOtherVariants) {
  Plan plan = WithPreload(WholeAt(2), 4);
  plan.freq = 1800;
  plan.variants = {WholeAt(6)};
  plan.variants[0].freq = 900;
  PipelineOptions options;
  options.clock_khz = 1800;
  Open(plan, options);
  const auto same = pipeline_->SetClock(1900);
  ASSERT_TRUE(Succeeded(same));
  EXPECT_FALSE(*same);
  EXPECT_EQ(Run().values, DirectLogits(path_, plan));
  const auto other = pipeline_->SetClock(1000);
  ASSERT_TRUE(Succeeded(other));
  EXPECT_TRUE(*other);
  EXPECT_EQ(pipeline_->status().preload_bytes, 0U);
  EXPECT_EQ(Run().values, DirectLogits(path_, plan.variants[0]));
  // Where the others cannot be loaded, those in force stay.
  faults_->Inject({.kind = FaultKind::kError});
  EXPECT_FALSE(pipeline_->SetClock(1800).ok());
  faults_->Heal();
  EXPECT_EQ(Run().values, DirectLogits(path_, plan.variants[0]));
  ASSERT_TRUE(Succeeded(pipeline_->SetClock(1800)));
  EXPECT_EQ(pipeline_->status().preload_bytes, BytesOf(plan.preload));
  EXPECT_EQ(Run().values, DirectLogits(path_, plan));
}

TEST_F(BetweenRuns, AnotherPlanTakesOverNoMorePlanesThanItHolds) {
  Open(WithPreload(WholeAt(4), 6));
  Plan plan = WithPreload(WholeAt(2), 6);
  plan.turns.resize(2);
  plan.turns[0].bits = plan.bits;
  plan.turns[0].preload = plan.preload;
  plan.turns[1].bits = WholeAt(4).bits;
  ASSERT_TRUE(Succeeded(pipeline_->SetPlan(plan)));
  EXPECT_EQ(pipeline_->status().preload_bytes, BytesOf(plan.preload));
}

TEST_F(BetweenRuns, ALateReadOfAShardThatStaysIsWaitedFor) {
  Plan plan = Timed(WholeAt(2));
  plan.turns.resize(2);
  plan.turns[0].bits = plan.turns[1].bits = plan.bits;
  plan.turns[1].preload = {{{4, 3}, 2}};
  Open(plan);
  const PartLocation& base = index_.shard({4, 3}).parts[PartKind::kBase];
  faults_->Inject(Hanging(base));
  RunTerms terms;
  RunResult result;
  terms.degrade_for_us = 2.5e6;  // in which all others come
  ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, kTextIds, kTextTypes, terms, &result)));
  EXPECT_FALSE(result.degraded.empty());
  EXPECT_EQ(pipeline_->status().lane, LaneState::kTrailing);
  door_.Open();
  terms.degrade_for_us = 60e6;
  ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, kTextIds, kTextTypes, terms, &result)));
  EXPECT_EQ(pipeline_->status().reader, faults_) << "the lane was not set aside";
  EXPECT_TRUE(PartsRead({4, 3}).empty()) << "it is held, and does not land again";
  EXPECT_TRUE(result.degraded.empty());
  EXPECT_EQ(result.values, DirectLogits(path_, plan));
  EXPECT_EQ(pipeline_->status().preload_bytes, BytesOf(plan.turns[1].preload));
}

TEST_F(BetweenRuns, AFailedRunLeavesNothingToBeTakenOver) {
  Open(Timed(WholeAt(4)));
  RunTerms terms;
  RunResult result;
  terms.degrade_for_us = 60e6;
  Fault fault;
  fault.nth = faults_->reads() + 3;
  faults_->Inject(fault);
  EXPECT_TRUE(FailedWith(RunTokens(*pipeline_, kTextIds, kTextTypes, terms, &result),
                         ErrorKind::kReadFailed));
  EXPECT_EQ(pipeline_->status().lane, LaneState::kIdle);
  faults_->Heal();
  EXPECT_EQ(Run().values, DirectLogits(path_, WholeAt(4)));
}

TEST_F(BetweenRuns, FullFidelityIsNoRefinement) {
  Plan plan = Timed(WholeAt(kFullBits));
  plan.bits.At(1, 1) = 4;
  Open(plan);
  RunTerms terms;
  RunResult result;
  terms.degrade_for_us = 60e6;
  ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, kTextIds, kTextTypes, terms, &result)));
  size_t refinements = 0;
  for (const ScheduledPart& part : pipeline_->status().schedule->parts) {
    EXPECT_FALSE(part.refinement && part.kind == PartKind::kFull);
    if (part.refinement) ++refinements;
  }
  EXPECT_EQ(refinements, 2U) << "two planes";
}

TEST_F(BetweenRuns, ALazyDegradedRunWaitsForParameters) {
  const Plan plan = Timed(WholeAt(2));
  PipelineOptions options;
  options.lazy = true;
  Open(plan, options);
  const PartLocation& part = index_.Resident(ResidentKind::kLayer, 2).part;
  faults_->Inject({FaultKind::kDelay, part.offset, part.length, 1, 400ms, {}});
  RunTerms terms;
  RunResult result;
  terms.degrade_for_us = 50e3;
  ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, kTextIds, kTextTypes, terms, &result)));
  EXPECT_GE(result.latency_us, 390e3);
  EXPECT_EQ(result.values, DirectLogits(path_, Degraded(plan, result.degraded)));
}

TEST_F(BetweenRuns, OverlappingReadsAreBusyTimeOnce) {
  Open(WholeAt(6));
  faults_->Inject({FaultKind::kDelay, 0, UINT64_MAX, Fault::kAlways, 5ms, {}});
  const RunResult result = Run();
  EXPECT_GT(result.reads.size(), 3U);
  EXPECT_GE(result.io_busy_us, 5e3);
  EXPECT_LE(result.io_busy_us, result.latency_us);
}

TEST_F(BetweenRuns, LockedMemoryIsThatOfRunsAndOfHeldShards) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer lets mlock do nothing";
  const uint64_t outside = LockedBytes();
  PipelineOptions options;
  options.lock_memory = true;
  const Plan plan = WithPreload(WholeAt(3), 4);
  Open(plan, options);
  ASSERT_TRUE((*pipeline_->status().lock_refusal).ok())
      << (*pipeline_->status().lock_refusal).error().what;
  const auto at_least = [&] {
    return outside + pipeline_->status().working_bytes + pipeline_->status().staging_bytes +
           pipeline_->status().preload_bytes;
  };
  const auto in_whole_pages = [&](uint64_t bytes) { return bytes + 20 * PageSpace::PageBytes(); };
  EXPECT_GE(LockedBytes(), at_least());
  EXPECT_LE(LockedBytes(), in_whole_pages(at_least()));
  const uint64_t all = LockedBytes();
  // Evicted shards are not kept by their locks.
  ASSERT_TRUE(Succeeded(pipeline_->ResizePreload(0)));
  EXPECT_LE(LockedBytes() + BytesOf(plan.preload), in_whole_pages(all));
  ASSERT_TRUE(Succeeded(pipeline_->ResizePreload({})));
  EXPECT_EQ(LockedBytes(), all);
  // Another plan's memory is locked as well.
  ASSERT_TRUE(Succeeded(pipeline_->SetPlan(WithPreload(WholeAt(4), 8))));
  EXPECT_GE(LockedBytes(), at_least());
  Run();
  EXPECT_GE(LockedBytes(), at_least());
  pipeline_.reset();
  EXPECT_EQ(LockedBytes(), outside);
}

}  // namespace
}  // namespace sti
