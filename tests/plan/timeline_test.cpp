#include "plan/timeline.h"

#include <gtest/gtest.h>

#include <map>

#include "plan/lanes.h"
#include "world.h"

namespace sti {
namespace {

using Kind = LaneSpan::Kind;

TEST(Timeline, LanesOverlap) {
  const ComputeLane lane{{5, 10, 7}, 2, 100};
  const std::vector<StreamedShard> shards = {{0, 1, 30}, {1, 1, 200}};
  // Rows at 10, layer 0 at 40 to 140, layer 1 waits until 240, ends at 340, head 7.
  EXPECT_DOUBLE_EQ(*PipelineLatency(lane, shards, std::nullopt), 347);
  EXPECT_DOUBLE_EQ(SerialLatency(lane, shards), 10 + 230 + 5 + 200 + 7);
  EXPECT_DOUBLE_EQ(*PipelineLatency(lane, {}, std::nullopt), 10 + 5 + 200 + 7);
}

TEST(Timeline, StagingBoundDelaysReads) {
  const ComputeLane lane{{}, 3, 100};
  const std::vector<StreamedShard> shards = {{0, 10, 50}, {1, 10, 50}, {2, 10, 50}};
  EXPECT_DOUBLE_EQ(*PipelineLatency(lane, shards, std::nullopt), 350);
  EXPECT_DOUBLE_EQ(*PipelineLatency(lane, shards, 20), 350);
  // One layer at a time: each read waits for the layer before to end.
  EXPECT_DOUBLE_EQ(*PipelineLatency(lane, shards, 10), 450);
  EXPECT_FALSE(PipelineLatency(lane, shards, 9));
}

TEST(Timeline, AgreesWithAnEventSimulator) {
  test::Random random(3);
  for (int trial = 0; trial < 5000; ++trial) {
    const uint32_t layers = 1 + random.Below(6);
    const int64_t layer_us = 1 + random.Below(20);
    const int64_t last_us = 1 + random.Below(20);
    const int64_t embed_io = random.Below(15);
    std::vector<std::vector<int64_t>> loads(layers);
    std::vector<StreamedShard> shards;
    for (uint32_t k = 0; k < layers; ++k) {
      for (uint32_t i = random.Below(4); i > 0; --i) {
        loads[k].push_back(1 + random.Below(15));
        shards.push_back({k, 1, static_cast<double>(loads[k].back())});
      }
    }
    int64_t stalls = 0;
    const int64_t end = test::SimulateEvents(loads, layer_us, last_us, embed_io, &stalls);
    const ComputeLane lane{{0, static_cast<double>(embed_io), 0},
                           layers,
                           static_cast<double>(layer_us),
                           static_cast<double>(last_us)};
    ASSERT_DOUBLE_EQ(*PipelineLatency(lane, shards, std::nullopt), static_cast<double>(end));
  }
}

/// True if spans of one lane follow each other.
void ExpectLanesInOrder(const std::vector<LaneSpan>& spans) {
  std::map<bool, double> reached;
  for (const LaneSpan& span : spans) {
    const bool io = IsIo(span.kind);
    if (reached.contains(io)) {
      EXPECT_GE(span.start_us, reached[io]);
    }
    EXPECT_GE(span.end_us, span.start_us);
    reached[io] = span.end_us;
  }
}

double LastEnd(const std::vector<LaneSpan>& spans) {
  double last = 0;
  for (const LaneSpan& span : spans) {
    const bool io = IsIo(span.kind);
    if (!io) last = std::max(last, span.end_us);
  }
  return last;
}

TEST(Timeline, SpansTellWhatWasPlayed) {
  const ComputeLane lane{{5, 10, 7}, 2, 100};
  const std::vector<StreamedShard> shards = {{0, 1, 30}, {1, 1, 200}};
  std::vector<LaneSpan> spans;
  PipelineLatency(lane, shards, std::nullopt, 0, &spans);
  const std::vector<std::tuple<Kind, size_t, double, double>> expected = {
      {Kind::kRows, 0, 0, 10},    {Kind::kEmbed, 0, 10, 15}, {Kind::kLoad, 0, 10, 40},
      {Kind::kLayer, 0, 40, 140}, {Kind::kLoad, 1, 40, 240}, {Kind::kLayer, 1, 240, 340},
      {Kind::kHead, 0, 340, 347}};
  std::vector<std::tuple<Kind, size_t, double, double>> got;
  got.reserve(spans.size());
  for (const LaneSpan& s : spans) got.emplace_back(s.kind, s.index, s.start_us, s.end_us);
  EXPECT_EQ(got, expected);
  spans.clear();
  const double serial_us = SerialLatency(lane, shards, &spans);
  EXPECT_EQ(spans.back().end_us, serial_us);
  EXPECT_EQ(spans.front().kind, Kind::kRows);
  EXPECT_EQ(spans.size(), 7u);
}

TEST(Timeline, SpansNeverOverlapAndTheLastIsTheLatency) {
  test::Random random(17);
  for (int trial = 0; trial < 5000; ++trial) {
    const uint32_t layers = 1 + random.Below(6);
    const ComputeLane lane{{0.3 * random.Below(9), 0.7 * random.Below(9), 0.9 * random.Below(3)},
                           layers,
                           0.1 + random.Below(20)};
    std::vector<StreamedShard> shards;
    for (uint32_t k = 0; k < layers; ++k) {
      for (uint32_t i = random.Below(4); i > 0; --i)
        shards.push_back({k, 1 + random.Below(5), 1.1 * random.Below(15)});
    }
    std::optional<uint64_t> staging;
    if (random.Below(2) == 1) staging = 15 + random.Below(9);
    const double wake_us = 3.3 * random.Below(12);
    std::vector<LaneSpan> spans;
    const auto latency_us = PipelineLatency(lane, shards, staging, wake_us, &spans);
    ASSERT_TRUE(latency_us);
    ASSERT_EQ(*latency_us, *PipelineLatency(lane, shards, staging, wake_us));
    ASSERT_EQ(LastEnd(spans), *latency_us);
    ExpectLanesInOrder(spans);
    std::vector<double> loads(shards.size());
    for (const LaneSpan& span : spans) {
      EXPECT_GE(span.start_us, -wake_us);
      if (span.kind == Kind::kLoad) loads[span.index] += span.end_us - span.start_us;
    }
    for (size_t i = 0; i < shards.size(); ++i) ASSERT_NEAR(loads[i], shards[i].load_us, 1e-9);
    if (HasFailure()) return;
  }
}

TEST(Timeline, LeadTimeIsSpentOnShardsAndRowsComeFirstWhenTheTextIsThere) {
  const ComputeLane lane{{0, 10, 0}, 2, 100};
  const std::vector<StreamedShard> shards = {{0, 1, 60}, {1, 1, 200}};
  EXPECT_DOUBLE_EQ(*PipelineLatency(lane, shards, std::nullopt), 370);
  // Layer 0's shard from -80 to -20; layer 1's from -20 to 0 and, behind the rows, 10 to 190.
  std::vector<LaneSpan> spans;
  EXPECT_DOUBLE_EQ(*PipelineLatency(lane, shards, std::nullopt, 80, &spans), 290);
  ASSERT_EQ(spans[0].kind, Kind::kLoad);
  EXPECT_DOUBLE_EQ(spans[0].start_us, -80);
  EXPECT_DOUBLE_EQ(spans[0].end_us, -20);
  // Lead enough: what is left is the rows and compute.
  EXPECT_DOUBLE_EQ(*PipelineLatency(lane, shards, std::nullopt, 1000), 210);
  // Room for one layer only: the second waits for the first to end, lead or not.
  EXPECT_DOUBLE_EQ(*PipelineLatency(lane, shards, 1, 1000), 410);
}

/// The planner's inequality for the lead: budgets with the lead hold iff the play ends by T.
TEST(Timeline, LeadAgreesWithAccumulatedBudgets) {
  test::Random random(29);
  for (int trial = 0; trial < 3000; ++trial) {
    const uint32_t layers = 1 + random.Below(5);
    const double layer_us = 1 + random.Below(20);
    const double rows_us = random.Below(15);
    const double wake_us = random.Below(60);
    std::vector<StreamedShard> shards;
    double late_us = rows_us;
    double io_us = rows_us - wake_us;
    for (uint32_t k = 0; k < layers; ++k) {
      for (uint32_t i = random.Below(4); i > 0; --i) {
        shards.push_back({k, 1, static_cast<double>(1 + random.Below(15))});
        io_us += shards.back().load_us;
      }
      late_us = std::max(late_us, io_us - k * layer_us);
    }
    ASSERT_NEAR(
        *PipelineLatency({{0, rows_us, 0}, layers, layer_us}, shards, std::nullopt, wake_us),
        late_us + layers * layer_us, 1e-9);
  }
}

TEST(PlanTimeline, EndsWhenThePlanPredictsForEveryStrategyAndMemory) {
  test::World world = test::Odroid();
  world.profile.fixed.push_back({128, 900, 2500, 700});
  for (IoSample& sample : world.profile.io) sample.p99_us *= 1.5;
  const double p99_more = 1.2;
  for (ComputeSample& sample : world.profile.compute) sample.p99_us *= p99_more;
  const PlanInput input = world.input();
  size_t played = 0;
  for (const Strategy strategy : {Strategy::kSti, Strategy::kStiPaper, Strategy::kRandom,
                                  Strategy::kLoadExec, Strategy::kStdpl, Strategy::kPreload}) {
    for (const double target_us : {1.5e5, 3e5, 2e6}) {
      for (const uint64_t memory : {uint64_t{0}, uint64_t{24'000'000}}) {
        PlanRequest request;
        request.strategy = strategy;
        request.target_us = target_us;
        request.preload_bytes = 1'000'000;
        if (memory > 0) request.judging.memory_bytes = memory;
        const auto plan = MakePlan(input, request);
        if (!plan.ok()) continue;
        const auto timeline = PlayPlan(input, request.judging, *plan);
        ASSERT_TRUE(timeline.ok()) << timeline.error().Message();
        EXPECT_EQ(timeline->latency_us, plan->predicted_latency_us) << NameOf(strategy);
        EXPECT_EQ(PlayPlan(input, request.judging, *plan, Risk::kP99)->latency_us,
                  plan->predicted_p99_us);
        size_t loads = 0;
        for (const PlanEvent& event : timeline->events) loads += event.kind == Kind::kLoad ? 1 : 0;
        EXPECT_EQ(loads + plan->preload.size(), plan->layers.size() * plan->width);
        EXPECT_EQ(timeline->events.back().kind, Kind::kHead);
        EXPECT_EQ(timeline->events.back().end_us, timeline->latency_us);
        ++played;
      }
    }
  }
  EXPECT_GE(played, 20u);
}

TEST(PlanTimeline, NamesLayersAndStalls) {
  test::World world(4, 2, {2}, {100});
  world.info.depth_layers = {{0}, {1, 3}, {0, 1, 2}, {0, 1, 2, 3}};
  world.Compute(1, [](uint32_t) { return 100.0; });
  world.Io({40});
  PlanRequest request;
  request.submodel = {2, 2};
  const PlanInput input = world.input();
  const auto plan = MakePlan(input, request);
  ASSERT_TRUE(plan.ok());
  const auto timeline = PlayPlan(input, request.judging, *plan);
  ASSERT_TRUE(timeline.ok());
  // Reads 0-40-80, 80-120-160; layers at 80 and 180.
  EXPECT_DOUBLE_EQ(timeline->latency_us, 280);
  EXPECT_DOUBLE_EQ(timeline->stall_us, 80);
  std::vector<uint32_t> layers;
  for (const PlanEvent& event : timeline->events) {
    if (event.kind == Kind::kLayer) layers.push_back(event.shard.id.layer);
  }
  EXPECT_EQ(layers, (std::vector<uint32_t>{1, 3}));
  Plan foreign = *plan;
  foreign.slices.At(0, 0) = 9;
  EXPECT_EQ(PlayPlan(input, request.judging, foreign).error().kind, ErrorKind::kForeign);
}

}  // namespace
}  // namespace sti
