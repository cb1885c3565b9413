// Runs under a plan with a fallback: whatever the reads do, each has its label in time.
#include "pipeline/lane/guarantee.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "guarantee_world.h"
#include "model/held_rows.h"
#include "pipeline/io_share.h"

namespace sti {
namespace {

using namespace std::chrono_literals;

TEST_F(Guarantees, AQuietRunIsThePlansOwn) {
  const Plan plan = WithFallback(Mixed(), {0, 1, 2});
  Open(plan);
  for (int run = 0; run < 3; ++run) {
    const RunResult result = RunOnce(kQuiet_us);
    EXPECT_FALSE(result.fallback);
    EXPECT_TRUE(result.degraded.empty());
    EXPECT_EQ(result.values, DirectLogits(path_, Mixed()));
  }
}

// Until the rows must be there, time is left for the fallback's embeddings and its layers, as
// narrow as they can be.
TEST_F(Guarantees, RowsHaveTimeUntilTheNarrowestFallbackMustBegin) {
  Plan plan = WithFallback(Mixed(), {0, 1, 2}, 4);
  plan.times->embed_io_us = kDeadline_us;
  plan.fallback->layer_us = plan.fallback->last_layer_us = 10000;
  const Pace pace(*plan.times, 4, 3);
  const auto rows_by_us = [&](double embed_us) {
    plan.fallback->embed_us = embed_us;
    return Guarantee(index_, plan, {}).RowsByUs(kDeadline_us, pace);
  };
  const double by_us = rows_by_us(1000);
  EXPECT_GT(by_us, kDeadline_us - plan.fallback->reserve_us());
  EXPECT_LT(by_us, kDeadline_us - plan.fallback->margin_us - 1000);
  EXPECT_DOUBLE_EQ(rows_by_us(11000), by_us - 10000);
}

TEST_F(Guarantees, WhatTheFallbackHoldsIsNotRead) {
  const Plan without = WholeAt(2);
  const Plan plan = WithFallback(without, {0, 1, 2, 3, 4}, 4);
  Open(plan);
  const RunResult with = RunOnce(kQuiet_us);
  EXPECT_EQ(with.values, DirectLogits(path_, without));
  auto other = Make(Timed(without));
  ASSERT_TRUE(Succeeded(other));
  const auto whole = RunTokens(**other, kTextIds, kTextTypes);
  ASSERT_TRUE(Succeeded(whole));
  EXPECT_LT(with.bytes_read, whole->bytes_read);
  EXPECT_TRUE(with.reads.empty());  // but rows
}

// Shards of full fidelity pass through the arena, one layer at a time, since the fallback's are
// there already; and no plan counts on that once all is loaded.
TEST_F(Guarantees, WhatIsLoadedAheadLeavesTheArenaAsItWas) {
  Plan plan = WithFallback(WithPreload(WholeAt(32), 18), {0, 1, 2, 3, 4}, 4);
  const ShardCatalog catalog = CatalogOf(index_);
  uint64_t streamed = 0;
  for (uint32_t i = 2; i < 4; ++i) streamed += *catalog.BytesOf({{4, i}, 32});
  plan.staging_bytes = streamed;
  Open(plan);
  EXPECT_EQ(pipeline_->status().staging_bytes, streamed);
  std::vector<ShardAtBits> held = plan.preload;
  for (const ShardAtBits& shard : ShardsOf(*plan.fallback)) held.push_back(shard);
  EXPECT_EQ(pipeline_->status().preload_bytes,
            catalog.BytesOfAll(held) + FallbackRowBytes(index_, plan.length))
      << "full fidelity and two bits share nothing";
  EXPECT_EQ(catalog.BytesOfAll(held),
            catalog.BytesOfAll(plan.preload) + catalog.BytesOfAll(FallbackShards(plan)));
  EXPECT_EQ(RunOnce(kQuiet_us).values, DirectLogits(path_, plan));
  // A plan that streams nothing says no staging, and fills its buffer anew by a layer at a time
  // too.
  plan.staging_bytes = 0;
  Open(WithPreload(plan, 20));
  EXPECT_EQ(pipeline_->status().staging_bytes, 0U);
  ASSERT_TRUE(Succeeded(pipeline_->ResizePreload(0)));
  ASSERT_TRUE(Succeeded(pipeline_->ResizePreload(std::nullopt)));
  uint64_t layer = 0;
  for (uint32_t i = 0; i < 4; ++i) layer += *catalog.BytesOf({{0, i}, 32});
  EXPECT_LE(pipeline_->status().staging_bytes, layer);
}

TEST_F(Guarantees, ReadsThatHangLeaveRunAfterRunToTheFallback) {
  const Plan plan = WithFallback(WholeAt(4), {0, 1, 2});
  Open(plan);
  const auto expected = DirectLogits(path_, WholeAt(4));
  EXPECT_EQ(RunOnce(kQuiet_us).values, expected);
  const auto unknown = UnknownByFallback(plan);
  door_.Close();
  for (int run = 0; run < 8; ++run) {  // more than there are lanes to set aside
    const RunResult result = RunOnce(kDeadline_us);
    ASSERT_TRUE(result.fallback);
    EXPECT_FALSE(result.fallback->reads_failed);
    EXPECT_EQ(result.fallback->layers_before, 0u);
    EXPECT_GT(result.fallback->rows_missing, 0u);
    EXPECT_EQ(result.values, unknown);
    EXPECT_TRUE(result.degraded.empty());
  }
  const RunResult after = RunOnceReadsComeAgain();
  EXPECT_FALSE(after.fallback);
  EXPECT_EQ(after.values, expected);
}

// A lazy pipeline reads parameters when they are needed, which a fallback cannot wait for.
TEST_F(Guarantees, ALazyPipelineIsReadyForItsFallbackToo) {
  const Plan plan = WithFallback(WholeAt(4), {0, 1, 2});
  PipelineOptions options;
  options.lazy = true;
  Open(plan, options);
  door_.Close();
  const RunResult result = RunOnce(kDeadline_us);
  ASSERT_TRUE(result.fallback);
  EXPECT_EQ(result.values, UnknownByFallback(plan));
}

TEST_F(Guarantees, RowsOfEarlierTextsAreKnown) {
  const Plan plan = WithFallback(WholeAt(4), {0, 1, 2});
  Open(plan, {}, true);
  RunOnce(kQuiet_us);
  door_.Close();
  const RunResult known = RunOnce(kDeadline_us);
  ASSERT_TRUE(known.fallback);
  EXPECT_EQ(known.fallback->rows_missing, 0u);
  EXPECT_EQ(known.values, DirectLogits(path_, Alone(plan)));
  Ids other = kTextIds;
  other[4] = 21;
  for (int run = 0; run < 6; ++run) {  // whichever lanes and stores are set aside
    EXPECT_EQ(RunOnce(kDeadline_us, other).fallback->rows_missing, 1u);
    EXPECT_EQ(RunOnce(kDeadline_us).values, known.values);
  }
  EXPECT_EQ(RunOnceReadsComeAgain().values, DirectLogits(path_, WholeAt(4)));
}

TEST_F(Guarantees, ReadsThatFailAreNoErrors) {
  const Plan plan = WithFallback(WholeAt(4), {0, 1, 2});
  Open(plan);
  const auto unknown = UnknownByFallback(plan);
  Fault broken;
  broken.times = Fault::kAlways;
  faults_->Inject(broken);
  for (int run = 0; run < 3; ++run) {
    const RunResult result = RunOnce(kQuiet_us);
    ASSERT_TRUE(result.fallback);
    EXPECT_TRUE(result.fallback->reads_failed);
    EXPECT_EQ(result.values, unknown);
  }
  faults_->Heal();
  EXPECT_FALSE(RunOnce(kQuiet_us).fallback);
  EXPECT_EQ(RunOnce(kQuiet_us).values, DirectLogits(path_, WholeAt(4)));
}

// Runs that lack planes, where two layers are run as they are held, are compared with the plan by
// the bytes that they read.
TEST_F(Guarantees, ReadsThatFailMakeNoFasterFlash) {
  Plan plan = WithFallback(WholeAt(4), {0, 1, 2, 3, 4}, 4);
  plan.times->layer_io_us.assign(plan.layers.size(), 1e6);
  Open(plan);
  for (const uint32_t layer : {2U, 3U}) StrikeLayer(faults_, index_, layer, 4);
  std::vector<double> ratios;
  for (size_t run = 0; run < DriftWatch::kRuns; ++run) {
    const RunResult result = RunOnce(kQuiet_us);
    ASSERT_FALSE(result.degraded.empty());
    const LoadSchedule& schedule = *pipeline_->status().schedule;
    double bytes = 0;
    for (const ReadSpan& span : result.reads)
      bytes += static_cast<double>(schedule.reads[span.read].length);
    const double share = bytes / static_cast<double>(schedule.read_bytes);
    ASSERT_LT(share, 0.9);
    const double planned_us = 1e6 * static_cast<double>(plan.layers.size()) * share;
    ratios.push_back(result.io_busy_us / planned_us);
  }
  std::ranges::sort(ratios);
  ASSERT_TRUE(pipeline_->drift().Now());
  EXPECT_NEAR(pipeline_->drift().Now()->io_ratio, ratios[ratios.size() / 2], 1e-9);
}

// Runs that fill the buffer again, which was made smaller, read more than the plan counts on. That
// is no slower flash: as the plan has it no read takes a microsecond.
TEST_F(Guarantees, WhatAResizeGaveBackIsNoDriftOfReads) {
  Plan plan = WithFallback(WithPreload(WholeAt(4), 6), {0, 1, 2});
  plan.times->layer_us = plan.times->layer_p99_us = 1e6;
  plan.times->layer_io_us.assign(plan.layers.size(), 1e-3);
  for (const bool resized : {true, false}) {
    Open(plan);
    for (size_t run = 0; run < 2 * DriftWatch::kLeastRuns; ++run) {
      if (resized) {
        ASSERT_TRUE(Succeeded(pipeline_->ResizePreload(0)));
        ASSERT_TRUE(Succeeded(pipeline_->ResizePreload(std::nullopt, Refill::kWithRuns)));
      }
      RunOnce(kQuiet_us);
    }
    EXPECT_EQ(pipeline_->drift().Now().has_value(), !resized);
  }
}

// Nobody waits for reads that will not come, nor for the deadline, which is out of reach here. So
// it is where the arena has room for no other read before the layer that failed has been computed,
// and where lanes that share a device may have no more in flight than what failed.
TEST_F(GuaranteesOfFirstLayers, ALayerThatFailsIsRunAsHeldOrEndsThePlan) {
  constexpr double kNever_us = 1e12;
  const Plan plan = WithFallback(WholeAt(4), {0, 1, 2});
  IoShare share(kBlockBytes);
  uint64_t most = 0;
  for (const auto& [staging, io] : std::vector<std::pair<uint64_t, IoShare*>>{
           {0, nullptr}, {0, &share}, {8 * kBlockBytes, nullptr}, {8 * kBlockBytes, &share}}) {
    for (const uint32_t failing : {1U, 2U, 4U}) {
      PipelineOptions options;
      options.staging_bytes = staging;
      options.io = io;
      Open(plan, options);
      StrikeLayer(faults_, index_, failing, 4);
      const RunResult result = RunOnce(kNever_us);
      Plan ran = WholeAt(4);
      ASSERT_EQ(result.fallback.has_value(), failing == 4) << failing;
      if (result.fallback) {
        EXPECT_TRUE(result.fallback->reads_failed);
        EXPECT_EQ(result.fallback->rows_missing, 0u);
        EXPECT_EQ(result.fallback->layers_before, 4u);
        ran.layers.resize(4);
      }
      EXPECT_EQ(result.layers.size(), ran.layers.size());
      EXPECT_EQ(result.values, DirectLogits(path_, Degraded(ran, result.degraded))) << failing;
      most = std::max(most, pipeline_->status().staging_bytes);
      if (staging > 0) {
        EXPECT_LT(pipeline_->status().staging_bytes, most) << "reads are bounded";
      }
      pipeline_.reset();
    }
  }
}

TEST_F(GuaranteesOfFirstLayers, ALateLayerIsGivenUp) {
  // Bits of full fidelity share no plane with the fallback's: nothing of the layer is there.
  const Plan plan = WithFallback(WholeAt(32), {0, 1});
  Open(plan);
  layer_door_.Close();
  StrikeLayer(faults_, index_, 3, 32, &layer_door_);
  const RunResult result = RunOnce(kLater_us);
  ASSERT_TRUE(result.fallback);
  EXPECT_FALSE(result.fallback->reads_failed);
  EXPECT_EQ(result.fallback->layers_before, 3u);
  EXPECT_EQ(result.layers.size(), 3u);  // the fallback has no later layer
  Plan ran = WholeAt(32);
  ran.layers.resize(3);
  ran.slices = {{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}};
  ran.bits = Grid<uint32_t>(3, 4, 32);
  EXPECT_EQ(result.values, DirectLogits(path_, Degraded(ran, result.degraded)));
}

// No depth of this model runs layers 0, 1, 2 and 3, or 0, 1 and 2. What the layers before were
// short of is of no account then: layer 1 runs without its third plane.
TEST_F(Guarantees, WhereTheDepthMapForbidsItTheFallbackStartsFromTheEmbeddings) {
  Plan plan = WithFallback(WholeAt(32), {0, 1, 2});
  for (uint32_t slice = 0; slice < plan.width; ++slice) plan.bits.At(1, slice) = 4;
  const auto alone = DirectLogits(path_, Alone(plan));
  for (const bool hangs : {false, true}) {
    Open(plan);
    for (uint32_t slice = 0; slice < plan.width; ++slice) {
      const PartLocation& plane = index_.shard({1, slice}).parts[PartAt(4)];
      faults_->Inject({.kind = FaultKind::kError, .offset = plane.offset, .length = plane.length});
    }
    if (hangs) layer_door_.Close();
    StrikeLayer(faults_, index_, 3, 32, hangs ? &layer_door_ : nullptr);
    const RunResult result = RunOnce(kLater_us);
    ASSERT_TRUE(result.fallback);
    EXPECT_EQ(result.fallback->reads_failed, !hangs);
    EXPECT_EQ(result.fallback->layers_before, 0u);
    EXPECT_EQ(result.fallback->rows_missing, 0u);
    EXPECT_EQ(result.layers.size(), 3u);
    EXPECT_TRUE(result.degraded.empty());
    EXPECT_EQ(result.values, alone);
    layer_door_.Open();
    pipeline_.reset();
  }
}

TEST_F(Guarantees, WithoutADeadlineAPlanWaits) {
  const Plan plan = WithFallback(WholeAt(4), {0, 1, 2});
  Open(plan);
  door_.Close();
  std::thread opens([&] {
    std::this_thread::sleep_for(300ms);
    door_.Open();
  });
  const auto result = RunTokens(*pipeline_, kTextIds, kTextTypes);
  opens.join();
  ASSERT_TRUE(Succeeded(result));
  EXPECT_FALSE(result->fallback);
  EXPECT_EQ(result->values, DirectLogits(path_, WholeAt(4)));
}

TEST_F(Guarantees, TheFallbackStaysWhereTheBufferIsMadeSmaller) {
  const Plan plan = WithPreload(WithFallback(WholeAt(4), {0, 1, 2}), 6);
  Open(plan);
  ASSERT_TRUE(Succeeded(pipeline_->ResizePreload(0)));
  EXPECT_GT(pipeline_->status().preload_bytes, 0u);
  const auto unknown = UnknownByFallback(plan);
  door_.Close();
  const RunResult result = RunOnce(kDeadline_us);
  ASSERT_TRUE(result.fallback);
  EXPECT_EQ(result.values, unknown);
  EXPECT_EQ(RunOnceReadsComeAgain().values, DirectLogits(path_, WholeAt(4)));
}

TEST_F(Guarantees, ABoundOnStagingKeepsLanesButNotLabels) {
  const Plan plan = WithFallback(WholeAt(4), {0, 1, 2});
  PipelineOptions options;
  options.staging_bytes = 64 * 4096;
  Open(plan, options);
  const BlockReader* const reader = pipeline_->status().reader;
  const auto unknown = UnknownByFallback(plan);
  door_.Close();
  for (int run = 0; run < 3; ++run) {
    const RunResult result = RunOnce(kDeadline_us);
    ASSERT_TRUE(result.fallback);
    EXPECT_EQ(result.values, unknown);
    EXPECT_EQ(pipeline_->status().reader, reader) << "another lane has another arena";
  }
}

// A pause comes while reads hang: nobody waits there, since the next input has a deadline.
TEST_F(Guarantees, APauseWaitsForNoReadThatHangs) {
  const Plan plan = WithFallback(WholeAt(4), {0, 1, 2});
  Open(plan);
  const auto unknown = UnknownByFallback(plan);
  door_.Close();
  std::atomic<bool> ended{false};
  std::thread guard([&] {
    for (int tries = 0; tries < 2000 && !ended; ++tries) std::this_thread::sleep_for(10ms);
    if (!ended) door_.Open();
  });
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(RunOnce(kDeadline_us).values, unknown);
    EXPECT_TRUE(Succeeded(pipeline_->Rest()));
  }
  EXPECT_TRUE(door_.is_closed());
  ended = true;
  guard.join();
  EXPECT_FALSE(RunOnceReadsComeAgain().fallback);
  ASSERT_TRUE(Succeeded(pipeline_->FinishReads()));
  ASSERT_TRUE(Succeeded(pipeline_->Rest()));
  EXPECT_EQ(pipeline_->status().staging_bytes, 0U);
}

TEST_F(Guarantees, LastThroughAClockWhoseVariantCannotBeLoaded) {
  Plan plan = WithFallback(WholeAt(4), {0, 1, 2});
  plan.freq = 2000000;
  Plan slow = WithFallback(WholeAt(6), {0, 1}, 4);
  slow.freq = 1000000;
  plan.variants = {slow};
  PipelineOptions options;
  options.clock_khz = 2000000;
  Open(plan, options);
  const auto unknown = UnknownByFallback(plan);
  faults_->Inject({.kind = FaultKind::kError});
  EXPECT_TRUE(FailedWith(pipeline_->SetClock(1000000), ErrorKind::kReadFailed));
  faults_->Heal();
  door_.Close();
  const RunResult result = RunOnce(kDeadline_us);
  ASSERT_TRUE(result.fallback);
  EXPECT_EQ(result.values, unknown);
  EXPECT_EQ(RunOnceReadsComeAgain().values, DirectLogits(path_, WholeAt(4)));
  const auto changed = pipeline_->SetClock(1000000);
  ASSERT_TRUE(Succeeded(changed));
  EXPECT_TRUE(*changed);
  EXPECT_EQ(RunOnce(kQuiet_us).values, DirectLogits(path_, WholeAt(6)));
}

TEST_F(Guarantees, VariantsHaveTheirOwn) {
  Plan plan = WithFallback(WholeAt(4), {0, 1, 2});
  Plan variant = WithFallback(WholeAt(4), {0, 1, 2}, 3);
  variant.length = 4;
  plan.variants = {variant};
  Open(plan);
  door_.Close();
  const RunResult longer = RunOnce(kDeadline_us);
  const RunResult shorter = RunOnce(kDeadline_us, {2, 5, 3});
  ASSERT_TRUE(longer.fallback && shorter.fallback);
  EXPECT_EQ(longer.layers[0].slices, 2u);
  EXPECT_EQ(shorter.layers[0].slices, 3u);
}

}  // namespace
}  // namespace sti
