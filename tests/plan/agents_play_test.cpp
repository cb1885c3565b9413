// Layers that are read by agents, as they are played: by hand, beside the play of one lane, and
// beside a simulation that moves everything in small steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "plan/judge.h"
#include "plan/lanes.h"
#include "plan/planner.h"
#include "types/bits.h"
#include "types/limits.h"
#include "world.h"

namespace sti {
namespace {

ComputeLane Lane(uint32_t layers, double layer_us) {
  ComputeLane lane;
  lane.fixed = {.embed_us = 5, .embed_io_us = 10, .head_us = 7};
  lane.layers = layers;
  lane.layer_us = lane.last_us = layer_us;
  return lane;
}

/// One shard a layer, of so many bytes.
std::vector<StreamedShard> Shards(const std::vector<uint64_t>& bytes) {
  std::vector<StreamedShard> shards;
  for (uint32_t k = 0; k < bytes.size(); ++k) shards.push_back({k, bytes[k], 0, {}});
  return shards;
}

// 10 us of rows; then two agents at 1 byte a microsecond each. The layers 0 and 1 are there at 110,
// computed at 140 and 170; 2 and 3 come at 210, and 4 at 310, computed at 340; the head takes 7.
TEST(AgentsPlay, TwoReadSideBySide) {
  const auto shards = Shards({100, 100, 100, 100, 100});
  std::vector<LaneSpan> spans;
  EXPECT_DOUBLE_EQ(*AgentsLatency(Lane(5, 30), shards, {{1, 2}}, {}, &spans), 310 + 30 + 7);
  std::vector<uint32_t> agents;
  for (const LaneSpan& span : spans) {
    if (span.kind == LaneSpan::Kind::kLoad) agents.push_back(span.agent);
  }
  EXPECT_EQ(agents, (std::vector<uint32_t>{0, 1, 0, 1, 0}));
}

// Alone an agent has 1.5 bytes a microsecond: of the last layer, 100 bytes, in 67 us rather than
// 100.
TEST(AgentsPlay, OneThatReadsAloneHasAllThatOneCanHave) {
  const auto shards = Shards({100, 100, 100});
  EXPECT_NEAR(*AgentsLatency(Lane(3, 30), shards, {{1.5, 2}}, {}), 10 + 100 + 100 / 1.5 + 30 + 7,
              1e-9);
}

// Staging for two layers: the third begins once the first is computed, at 140, not at 110.
TEST(AgentsPlay, AnAgentWaitsForRoom) {
  const auto shards = Shards({100, 100, 100, 100});
  EXPECT_DOUBLE_EQ(*AgentsLatency(Lane(4, 30), shards, {{1, 2}}, 200), 170 + 100 + 30 + 7);
  EXPECT_FALSE(AgentsLatency(Lane(4, 30), shards, {{1, 2}}, 99));
  // Staging for one: as if there were one agent, which waits for each layer.
  EXPECT_DOUBLE_EQ(*AgentsLatency(Lane(4, 30), shards, {{1, 2}}, 100), 10 + 4 * (100 + 30) + 7);
}

/// A model at random, with the resident parts of a cold start or words of the head now and then.
struct RandomRun {
  ComputeLane lane;
  std::vector<StreamedShard> shards;
  uint64_t bytes = 0;
  uint64_t largest = 0;  ///< of what one position reads

  explicit RandomRun(test::Random& random)
      : lane(Lane(1 + random.Below(7), 1 + random.Below(200))) {
    lane.last_us = 1 + random.Below(200);
    lane.fixed.embed_us = random.Below(40);
    std::vector<uint64_t> of_position(lane.layers + 1);
    for (uint32_t k = 0; k < lane.layers; ++k) {
      for (uint32_t i = random.Below(4); i > 0; --i) {
        shards.push_back({k, 1 + random.Below(300), 0, {}});
        of_position[k] += shards.back().bytes;
      }
    }
    if (random.Below(3) == 0) {
      for (uint32_t k = 0; k <= lane.layers; ++k) {
        lane.resident_bytes.push_back(1 + random.Below(50));
        lane.resident_us.push_back(0);
        of_position[k] += lane.resident_bytes.back();
      }
    }
    if (random.Below(3) == 0) {
      lane.words.groups = 1 + random.Below(4);
      lane.words.bytes = 1 + random.Below(200);
      of_position.insert(of_position.end(), lane.words.groups, lane.words.bytes);
    }
    for (const uint64_t position : of_position) {
      bytes += position;
      largest = std::max(largest, position);
    }
  }
  /// Sets the times of all reads at so many bytes a microsecond.
  void ReadAt(double rate) {
    for (StreamedShard& shard : shards) shard.load_us = static_cast<double>(shard.bytes) / rate;
    for (size_t k = 0; k < lane.resident_us.size(); ++k)
      lane.resident_us[k] = static_cast<double>(lane.resident_bytes[k]) / rate;
    lane.words.load_us = static_cast<double>(lane.words.bytes) / rate;
  }
  std::optional<uint64_t> SomeStaging(test::Random& random) const {
    if (random.Below(4) == 0) return std::nullopt;
    return std::max<uint64_t>(1, largest) + random.Below(static_cast<uint32_t>(bytes) + 1);
  }
};

TEST(AgentsPlay, OneAgentIsThePipelineOfOneLane) {
  test::Random random(1);
  for (int round = 0; round < 2000; ++round) {
    RandomRun run(random);
    const double rate = 0.5 + random.Below(40) / 10.0;
    run.ReadAt(rate);
    const auto staging = run.SomeStaging(random);
    const auto by_agent = AgentsLatency(run.lane, run.shards, {{rate}}, staging);
    const auto by_lane = PipelineLatency(run.lane, run.shards, staging);
    ASSERT_TRUE(by_agent && by_lane) << round;
    EXPECT_NEAR(*by_agent, *by_lane, 1e-6 * *by_lane) << round;
  }
}

/// Plays a run in steps of `step_us`, from the comment of AgentsLatency alone.
double Simulate(const RandomRun& run, const std::vector<double>& rates,
                std::optional<uint64_t> staging, double step_us) {
  struct Read {
    uint32_t position;
    double left;
    uint64_t bytes;
  };
  const auto agents = static_cast<uint32_t>(rates.size());
  const uint32_t positions = run.lane.layers + 1 + run.lane.words.groups;
  std::vector<std::vector<Read>> reads(positions);
  for (uint32_t k = 0; k < positions; ++k) {
    const auto add = [&](uint64_t bytes) {
      reads[k].push_back({k, static_cast<double>(bytes), bytes});
    };
    if (k < run.lane.resident_bytes.size()) add(run.lane.resident_bytes[k]);
    for (const StreamedShard& shard : run.shards) {
      if (shard.position == k) add(shard.bytes);
    }
    if (k > run.lane.layers) add(run.lane.words.bytes);
  }
  const auto time_of = [&](uint32_t k) {
    if (k < run.lane.layers) return run.lane.LayerUs(k);
    if (run.lane.words.groups == 0) return run.lane.fixed.head_us;
    return k > run.lane.layers ? run.lane.GroupUs() : 0.0;
  };
  double now = run.lane.fixed.embed_io_us;
  double busy_until = now + run.lane.fixed.embed_us;
  uint32_t computed = 0;  // positions
  bool computing = false;
  while (computed < positions) {
    // A layer ends, and the next begins.
    if (now >= busy_until - step_us / 2) {
      if (computing) ++computed;
      computing = false;
      const auto there = [&](uint32_t k) {
        return std::ranges::all_of(reads[k], [](const Read& read) { return read.left <= 0; });
      };
      if (computed < positions && there(computed)) {
        computing = true;
        busy_until = now + time_of(computed);
      }
    }
    // The reads that have a place: those up to which all that is not computed fits.
    std::vector<Read*> under_way;
    std::vector<bool> taken(agents);
    uint64_t staged = 0;
    bool room = true;
    for (uint32_t k = computed; k < positions && room; ++k) {
      for (Read& read : reads[k]) {
        staged += read.bytes;
        room = !staging || staged <= *staging;
        if (!room) break;
        if (read.left <= 0 || taken[k % agents]) continue;
        taken[k % agents] = true;
        under_way.push_back(&read);
      }
    }
    for (Read* read : under_way)
      read->left -= step_us * rates[under_way.size() - 1] / static_cast<double>(under_way.size());
    now += step_us;
  }
  return now;
}

TEST(AgentsPlay, AsInASimulationInSmallSteps) {
  constexpr double kStepUs = 0.05;
  test::Random random(2);
  for (int round = 0; round < 150; ++round) {
    const RandomRun run(random);
    std::vector<double> rates{0.5 + random.Below(20) / 10.0};
    for (uint32_t more = random.Below(6); more > 0; --more)
      rates.push_back(rates.back() + random.Below(15) / 10.0);
    const auto staging = run.SomeStaging(random);
    const auto played = AgentsLatency(run.lane, run.shards, {rates}, staging);
    ASSERT_TRUE(played) << round;
    // Each read and each position may end a step late.
    const double late_us = kStepUs * static_cast<double>(run.shards.size() + 20);
    EXPECT_NEAR(*played, Simulate(run, rates, staging, kStepUs), late_us) << round;
  }
}

/// A device of which an open file is granted 100 bytes a microsecond, and all together 450.
test::World PerFile() {
  test::World world = test::Odroid();
  world.profile.streams = {{1, 100}, {2, 200}, {4, 400}, {6, 450}, {8, 450}};
  for (ComputeSample& sample : world.profile.compute)
    sample.layer_us = sample.p99_us = 2000.0 * sample.width;
  world.profile.read_bytes = 1 << 20;
  world.profile.read_depth = 2;
  return world;
}

PlanRequest Pipeload() {
  PlanRequest request;
  request.strategy = Strategy::kPipeload;
  return request;
}

TEST(Pipeload, RunsTheWholeModelAtFullFidelity) {
  const test::World world = PerFile();
  PlanRequest request = Pipeload();
  request.agents = 2;
  const auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_EQ(SubmodelOf(*plan), (Submodel{12, 12}));
  EXPECT_EQ(plan->bits.At(11, 11), kFullBits);
  EXPECT_EQ(plan->agents, 2U);
  EXPECT_TRUE(plan->preload.empty());
  // Twelve layers of twelve shards of 2.36 MB, two at a time; each takes 24 ms to compute.
  const double layer_io_us = 12 * 2360e3 / 100;
  EXPECT_NEAR(plan->predicted_latency_us, 6 * layer_io_us + 2 * 24e3, 1);
  ASSERT_TRUE(plan->times);
  EXPECT_NEAR(plan->times->layer_io_us[3], layer_io_us / 2, 1) << "as two bring it";
}

TEST(Pipeload, TakesTheFewestAgentsThatAreFastest) {
  const test::World world = PerFile();
  const auto plan = MakePlan(world.input(), Pipeload());
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  double best_us = plan->predicted_latency_us;
  PlanRequest request = Pipeload();
  for (uint32_t agents = 1; agents <= kMaxReadStreams; ++agents) {
    request.agents = agents;
    const auto other = MakePlan(world.input(), request);
    ASSERT_TRUE(other.ok()) << other.error().Message();
    EXPECT_GE(other->predicted_latency_us, (agents < plan->agents ? 1.0 : 0.99) * best_us)
        << agents;
  }
}

TEST(Pipeload, MemoryBoundsTheAgents) {
  test::World world = PerFile();
  world.profile.process_bytes = 4 << 20;
  PlanRequest request = Pipeload();
  uint64_t before = 0;
  uint32_t agents_before = 0;
  for (const uint64_t layers : {2, 3, 5, 8}) {
    request.judging.memory_bytes = 12 * 2360 * test::kKilo * layers + (8 << 20);
    const auto plan = MakePlan(world.input(), request);
    ASSERT_TRUE(plan.ok()) << plan.error().Message();
    EXPECT_LE(plan->predicted_peak_bytes, *request.judging.memory_bytes);
    EXPECT_GE(plan->predicted_peak_bytes, before);
    EXPECT_GE(plan->agents, agents_before);
    before = plan->predicted_peak_bytes;
    agents_before = plan->agents;
  }
  EXPECT_GT(agents_before, 2U);
  request.judging.memory_bytes = 12 << 20;
  const auto none = MakePlan(world.input(), request);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::kInfeasible);
  // The least that works is named, and works.
  const std::string& least = none.error().value;
  ASSERT_TRUE(least.starts_with("memory_bytes to ")) << least;
  request.judging.memory_bytes = std::stoull(least.substr(16));
  EXPECT_TRUE(MakePlan(world.input(), request).ok());
}

TEST(Pipeload, WhatItDoesNotGoWith) {
  const test::World world = PerFile();
  const auto refused = [&](PlanRequest request) {
    const auto plan = MakePlan(world.input(), request);
    return plan.ok() ? std::string("planned") : plan.error().Message();
  };
  PlanRequest none = Pipeload();
  none.agents = 0;
  EXPECT_NE(refused(none).find("agents are 1 to 16"), std::string::npos);
  none.agents = 17;
  EXPECT_NE(refused(none).find("agents are 1 to 16"), std::string::npos);
  PlanRequest other = test::RequestFor(1e9, Strategy::kStdpl);
  other.agents = 2;
  EXPECT_NE(refused(other).find("agents are for the strategy pipeload"), std::string::npos);
  PlanRequest turns = Pipeload();
  turns.mode = PlanRequest::Turns{3};
  EXPECT_NE(refused(turns).find("turns and a lead time are for"), std::string::npos);
  test::World unmeasured = test::Odroid();
  const auto plan = MakePlan(unmeasured.input(), Pipeload());
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().kind, ErrorKind::kUsage);
  EXPECT_NE(plan.error().Message().find("no rates through several open files"), std::string::npos);
}

TEST(Pipeload, IsJudgedAsItWasPlanned) {
  const test::World world = PerFile();
  PlanRequest request = Pipeload();
  request.agents = 4;
  const auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(plan.ok());
  const auto verdict = CheckPlan(world.input(), {}, *plan);
  ASSERT_TRUE(verdict.ok());
  EXPECT_DOUBLE_EQ(verdict->latency_us, plan->predicted_latency_us);
  EXPECT_EQ(verdict->peak_bytes, plan->predicted_peak_bytes);
}

}  // namespace
}  // namespace sti
