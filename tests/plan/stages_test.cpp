// Plans for clusters: against a straight search over all partitions that plays each stage itself,
// and against what each figure means.
#include "plan/stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "plan/partition.h"
#include "plan/world.h"
#include "types/plan_check.h"

namespace sti {
namespace {

using test::Model;
using test::World;

/// Devices of two kinds, one slower in flash, the other in its cores, and the links between them.
struct ClusterWorld {
  World fast_flash{6, 3, {2, 4, 6, 32}, {40'960, 81'920, 122'880, 655'360}};
  World fast_cores = fast_flash;
  ClusterInput cluster;

  ClusterWorld() {
    Fill(&fast_flash, 9000, 1.0);
    Fill(&fast_cores, 4000, 2.5);
    for (World* world : {&fast_flash, &fast_cores}) AddBatch(world, 4, 2.0);
    Build();
  }
  /// Puts the cluster together of the worlds as they are now.
  void Build() {
    cluster.kinds.clear();
    cluster.kinds.push_back({.input = fast_flash.input(), .devices = {"a1", "a2"}});
    cluster.kinds.push_back({.input = fast_cores.input(), .devices = {"b1", "b2"}});
    cluster.links.assign(4, {30e6, 2000});
  }
  static void Fill(World* world, double slice_us, double io_ratio) {
    world->Compute(1, [&](uint32_t m) { return slice_us * m; });
    world->Io({1500 * io_ratio, 3000 * io_ratio, 4500 * io_ratio, 24000 * io_ratio});
    world->profile.fixed = {{128, 800, 1200, 400, 800, 1200, 400}};
  }
  /// Passes of `batch` inputs take `ratio` times as long.
  static void AddBatch(World* world, uint32_t batch, double ratio) {
    BatchSamples& samples = world->profile.batches.emplace_back();
    samples.batch = batch;
    samples.compute = world->profile.compute;
    samples.fixed = world->profile.fixed;
    for (ComputeSample& sample : samples.compute) {
      sample.layer_us *= ratio;
      sample.p99_us *= ratio;
    }
    for (FixedSample& sample : samples.fixed) {
      sample.embed_us *= ratio;
      sample.embed_p99_us *= ratio;
    }
  }
};

/// The period of layers [begin, end) at uniform bits, streamed, played by hand.
double PeriodOf(const World& world, uint32_t begin, uint32_t end, uint32_t bits) {
  const DeviceProfile& profile = world.profile;
  const uint32_t layers = world.catalog.layers;
  const uint32_t width = world.catalog.width;
  double load_us = 0;
  for (const IoSample& io : profile.io) {
    if (io.bits == bits) load_us = io.load_us;
  }
  double layer_us = 0;
  for (const ComputeSample& sample : profile.compute) {
    if (sample.width == width) layer_us = sample.layer_us;
  }
  double io_us = begin == 0 ? profile.fixed[0].embed_io_us : 0;
  double done_us = begin == 0 ? io_us + profile.fixed[0].embed_us : 0;
  for (uint32_t k = begin; k < end; ++k) {
    io_us += load_us * width;
    done_us = std::max(done_us, io_us) + layer_us;
  }
  return done_us + (end == layers ? profile.fixed[0].head_us : 0);
}

/// Calls `visit` with each split of the layers into stages on devices, each device once.
void ForEachPartition(uint32_t layers, std::vector<uint32_t> left,
                      std::vector<PartitionStage>* stages,
                      const std::function<void(const std::vector<PartitionStage>&)>& visit) {
  const uint32_t begin = stages->empty() ? 0 : stages->back().end;
  if (begin == layers) return visit(*stages);
  for (uint32_t kind = 0; kind < left.size(); ++kind) {
    if (left[kind] == 0) continue;
    --left[kind];
    for (uint32_t end = begin + 1; end <= layers; ++end) {
      stages->push_back({kind, begin, end});
      ForEachPartition(layers, left, stages, visit);
      stages->pop_back();
    }
    ++left[kind];
  }
}

TEST(Stages, TakeThePartitionOfTheLeastPeriodOfAll) {
  const ClusterWorld world;
  const World* worlds[] = {&world.fast_flash, &world.fast_cores};
  const double transfer_us = 128.0 * world.fast_flash.info.shape.hidden * 4 * 8 / 30e6 * 1e6;
  for (const uint32_t bits : {2U, 4U, 6U, 32U}) {
    double best_us = std::numeric_limits<double>::infinity();
    std::vector<PartitionStage> stages;
    ForEachPartition(6, {2, 2}, &stages, [&](const std::vector<PartitionStage>& split) {
      double period_us = split.size() > 1 ? transfer_us : 0;
      for (const PartitionStage& stage : split) {
        period_us =
            std::max(period_us, PeriodOf(*worlds[stage.kind], stage.begin, stage.end, bits));
      }
      best_us = std::min(best_us, period_us);
    });
    StageRequest request;
    request.microbatches = {1};
    request.bits = bits;
    const auto plan = PlanForCluster(world.cluster, request);
    ASSERT_TRUE(plan.ok()) << plan.error().Message();
    ASSERT_TRUE(plan->staged);
    EXPECT_NEAR(plan->staged->period_us, best_us, 1e-6) << bits << " bits";
    EXPECT_NEAR(plan->staged->throughput_per_s, 1e6 / best_us, 1e-9);
  }
}

TEST(Stages, SayOfEachDeviceWhatItRunsAndNothingIsFaulty) {
  const ClusterWorld world;
  std::vector<std::string> explained;
  const auto plan = PlanForCluster(world.cluster, {}, &explained);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_FALSE(FindPlanFault(*plan, {}));
  EXPECT_EQ(plan->staged->microbatch, 4U) << "its passes take twice as long for four texts";
  ASSERT_EQ(explained.size(), 2U);
  const std::vector<PlanStage>& stages = plan->staged->stages;
  ASSERT_EQ(stages.size(), 4U);
  for (size_t i = 0; i < stages.size(); ++i) {
    const Plan own = CutStage(*plan, i);
    EXPECT_EQ(own.layers.front(), stages[i].begin);
    EXPECT_EQ(own.layers.size(), stages[i].end - stages[i].begin);
    EXPECT_EQ(own.ends.text, i == 0);
    EXPECT_EQ(own.ends.head, i + 1 == stages.size());
    EXPECT_EQ(own.microbatch, 4U);
    EXPECT_EQ(own.most_tokens(), 512U);
    EXPECT_LE(stages[i].period_us, plan->staged->period_us);
    EXPECT_LE(stages[i].pass_us, stages[i].period_us);
    EXPECT_EQ(stages[i].transfer_us == 0, i + 1 == stages.size());
    EXPECT_EQ(stages[i].delay_us, i + 1 == stages.size() ? 0 : 2000);
  }
  EXPECT_EQ(ExtentOfStage(*plan, 3).end, 6U);
  double first_us = 0;
  for (const PlanStage& stage : stages)
    first_us += stage.pass_us + stage.transfer_us + stage.delay_us;
  EXPECT_NEAR(plan->predicted_latency_us, first_us, 1e-6);
}

TEST(Stages, RaiseShardsOfDevicesThatWouldWaitTheMostImportantFirst) {
  ClusterWorld world;
  world.fast_flash.use_importance = world.fast_cores.use_importance = true;
  for (World* w : {&world.fast_flash, &world.fast_cores}) {
    w->importance.layers = 6;
    w->importance.width = 3;
    w->importance.scores.clear();
    for (uint32_t shard = 0; shard < 18; ++shard) w->importance.scores.push_back(shard % 3);
  }
  world.Build();
  StageRequest request;
  request.microbatches = {1};
  request.bits = 2;
  const auto plan = PlanForCluster(world.cluster, request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  uint32_t raised = 0;
  for (uint32_t k = 0; k < 6; ++k) {
    for (uint32_t i = 0; i < 3; ++i) raised += plan->bits.At(k, i) > 2 ? 1 : 0;
    EXPECT_GE(plan->bits.At(k, 2), plan->bits.At(k, 0)) << "the most important of layer " << k;
  }
  EXPECT_GT(raised, 0U);
  const auto judged = JudgeStages(world.cluster, false, *plan);
  ASSERT_TRUE(judged.ok()) << judged.error().Message();
  EXPECT_EQ(judged->problem, "");
  EXPECT_EQ(judged->staged.period_us, plan->staged->period_us) << "what is raised costs nothing";
}

TEST(Stages, KeepEachDeviceWithinItsMemory) {
  ClusterWorld world;
  StageRequest request;
  request.microbatches = {1};
  const auto free = PlanForCluster(world.cluster, request);
  ASSERT_TRUE(free.ok()) << free.error().Message();
  uint64_t most = 0;
  for (const PlanStage& stage : free->staged->stages)
    most = std::max(most, stage.predicted_peak_bytes);
  for (DeviceKind& kind : world.cluster.kinds) {
    kind.memory_bytes = most - 1;
    kind.preload_bytes = 100'000;
  }
  const auto bounded = PlanForCluster(world.cluster, request);
  ASSERT_TRUE(bounded.ok()) << bounded.error().Message();
  for (const PlanStage& stage : bounded->staged->stages) {
    EXPECT_LT(stage.predicted_peak_bytes, most) << stage.device;
    EXPECT_LE(stage.preload_bytes, 100'000U);
  }
  for (DeviceKind& kind : world.cluster.kinds) kind.memory_bytes = 1000;
  const auto none = PlanForCluster(world.cluster, request);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::kInfeasible);
  // With the memory that it names, and not with a byte less, there is a plan.
  const std::string& what = none.error().what;
  const size_t at = what.find("with ") + 5;
  const uint64_t least = std::stoull(what.substr(at));
  for (DeviceKind& kind : world.cluster.kinds) {
    kind.memory_bytes = least;
    kind.preload_bytes = 0;
  }
  EXPECT_TRUE(PlanForCluster(world.cluster, request).ok()) << least;
  for (DeviceKind& kind : world.cluster.kinds) kind.memory_bytes = least - 1;
  EXPECT_FALSE(PlanForCluster(world.cluster, request).ok()) << least;
}

TEST(Stages, RefuseClustersThatCannotRunTheModel) {
  ClusterWorld world;
  StageRequest request;
  request.microbatches = {3};
  const auto batch = PlanForCluster(world.cluster, request);
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.error().kind, ErrorKind::kDamaged) << "no such batch was profiled";
  EXPECT_NE(batch.error().Message().find("a1"), std::string::npos) << batch.error().Message();
  request.microbatches = {1};
  world.cluster.links.assign(4, {});
  const auto apart = PlanForCluster(world.cluster, request);
  ASSERT_FALSE(apart.ok());
  EXPECT_EQ(apart.error().kind, ErrorKind::kDamaged);
  request.bits = 5;
  world.cluster.links.assign(4, {1e6, 0});
  EXPECT_EQ(PlanForCluster(world.cluster, request).error().kind, ErrorKind::kUsage);
}

TEST(Stages, JudgePlansFromElsewhere) {
  const ClusterWorld world;
  StageRequest request;
  request.microbatches = {1};
  auto plan = PlanForCluster(world.cluster, request);
  ASSERT_TRUE(plan.ok());
  const auto timelines = PlayStages(world.cluster, false, *plan);
  ASSERT_TRUE(timelines.ok());
  ASSERT_EQ(timelines->size(), plan->staged->stages.size());
  for (size_t i = 0; i < timelines->size(); ++i)
    EXPECT_NEAR((*timelines)[i].latency_us, plan->staged->stages[i].period_us, 1e-6);
  plan->staged->stages[0].device = "c1";
  const auto foreign = JudgeStages(world.cluster, false, *plan);
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().kind, ErrorKind::kForeign);
}

TEST(Stages, OneDeviceRunsItAll) {
  ClusterWorld world;
  world.cluster.kinds.pop_back();
  world.cluster.kinds[0].devices = {"only"};
  world.cluster.links = {{}};
  const auto plan = PlanForCluster(world.cluster, {});
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  ASSERT_EQ(plan->staged->stages.size(), 1U);
  EXPECT_TRUE(CutStage(*plan, 0).ends.whole());
}

}  // namespace
}  // namespace sti
