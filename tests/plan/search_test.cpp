// Properties of the strategies that choose bits a shard, against brute force.
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/judge.h"
#include "plan/planner.h"
#include "world.h"

namespace sti {
namespace {

/// A tiny device with whole-microsecond times, and what brute force must know of it.
struct Tiny {
  uint32_t layers, width;
  std::vector<int64_t> layer_us;  ///< by width - 1
  std::vector<int64_t> last_us;   ///< likewise
  std::vector<int64_t> load_us{0, 0};
  int64_t embed_io_us, target_us;
  uint64_t preload_bytes;
};

Tiny MakeTiny(test::Random& random) {
  Tiny tiny;
  tiny.layers = 1 + random.Below(3);
  tiny.width = 1 + random.Below(3);
  tiny.layer_us.push_back(1 + random.Below(14));
  for (uint32_t m = 2; m <= tiny.width; ++m)
    tiny.layer_us.push_back(tiny.layer_us.back() + random.Below(6));
  const int64_t share = 1 + random.Below(3);
  for (const int64_t layer_us : tiny.layer_us) tiny.last_us.push_back((layer_us + 2) / share);
  tiny.load_us[0] = 1 + random.Below(10);
  tiny.load_us[1] = tiny.load_us[0] + random.Below(10);
  tiny.embed_io_us = random.Below(5);
  tiny.target_us = 3 + random.Below(80);
  tiny.preload_bytes = random.Below(40);
  return tiny;
}

test::World WorldOf(const Tiny& tiny) {
  test::World world(tiny.layers, tiny.width, {2, 6}, {10, 25});
  world.Compute(1, [&](uint32_t m) { return double(tiny.layer_us[m - 1]); });
  for (uint32_t m = 1; m <= tiny.width; ++m) world.Last(m, double(tiny.last_us[m - 1]));
  world.Io({double(tiny.load_us[0]), double(tiny.load_us[1])});
  world.profile.fixed = {{128, 0, double(tiny.embed_io_us), 0}};
  return world;
}

/// When n x m with these levels (one bit a shard) is done, preload as the rule has it.
int64_t EndOf(const Tiny& tiny, uint32_t n, uint32_t m, uint32_t levels) {
  std::vector<std::vector<int64_t>> loads(n, std::vector<int64_t>(m));
  uint64_t used = 0;
  bool open = true;
  for (uint32_t shard = 0; shard < n * m; ++shard) {
    const uint32_t level = (levels >> shard) & 1;
    const uint64_t bytes = level ? 25 : 10;
    open = open && used + bytes <= tiny.preload_bytes;
    if (open) used += bytes;
    if (!open) loads[shard / m][shard % m] = tiny.load_us[level];
  }
  int64_t stalls = 0;
  return test::SimulateEvents(loads, tiny.layer_us[m - 1], tiny.last_us[m - 1], tiny.embed_io_us,
                              &stalls);
}

bool AnyPlanMeets(const Tiny& tiny) {
  for (uint32_t n = 1; n <= tiny.layers; ++n) {
    for (uint32_t m = 1; m <= tiny.width; ++m) {
      for (uint32_t levels = 0; levels < (1u << (n * m)); ++levels)
        if (EndOf(tiny, n, m, levels) <= tiny.target_us) return true;
    }
  }
  return false;
}

int64_t EndOf(const Tiny& tiny, const Plan& plan) {
  uint32_t levels = 0;
  for (size_t shard = 0; shard < plan.layers.size() * plan.width; ++shard)
    levels |= (plan.bits.values()[shard] == 6 ? 1u : 0u) << shard;
  return EndOf(tiny, static_cast<uint32_t>(plan.layers.size()), plan.width, levels);
}

TEST(Search, NeverMissesWhileSomePlanMeets) {
  test::Random random(11);
  int feasible = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    const Tiny tiny = MakeTiny(random);
    const test::World world = WorldOf(tiny);
    PlanRequest request;
    request.target_us = double(tiny.target_us);
    request.preload_bytes = tiny.preload_bytes;
    const auto plan = MakePlan(world.input(), request);
    ASSERT_EQ(plan.ok(), AnyPlanMeets(tiny)) << trial;
    if (!plan.ok()) continue;
    ++feasible;
    ASSERT_TRUE(plan->meets_target);
    ASSERT_LE(EndOf(tiny, *plan), tiny.target_us) << trial;
    ASSERT_DOUBLE_EQ(plan->predicted_latency_us, double(EndOf(tiny, *plan))) << trial;
    const auto check = CheckPlan(world.input(), request.judging, *plan);
    ASSERT_TRUE(check.ok() && check->valid) << trial;
  }
  EXPECT_GT(feasible, 300);
  EXPECT_LT(feasible, 1400);
}

// No shard could be raised alone: the second pass leaves nothing on the table.
TEST(Search, NothingMoreFits) {
  test::Random random(12);
  for (int trial = 0; trial < 1000; ++trial) {
    const Tiny tiny = MakeTiny(random);
    const test::World world = WorldOf(tiny);
    PlanRequest request;
    request.target_us = double(tiny.target_us);
    request.preload_bytes = tiny.preload_bytes;
    const auto plan = MakePlan(world.input(), request);
    if (!plan.ok()) continue;
    for (size_t shard = 0; shard < plan->layers.size() * plan->width; ++shard) {
      Plan raised = *plan;
      uint32_t& bits = raised.bits.values()[shard];
      if (bits == 6) continue;
      bits = 6;
      ASSERT_GT(EndOf(tiny, raised), tiny.target_us) << trial;
    }
  }
}

TEST(Search, PaperMissesOnlyWhereItsSubmodelCannotLoad) {
  test::Random random(13);
  for (int trial = 0; trial < 1000; ++trial) {
    const Tiny tiny = MakeTiny(random);
    const test::World world = WorldOf(tiny);
    PlanRequest request;
    request.strategy = trial % 2 == 0 ? Strategy::kStiPaper : Strategy::kRandom;
    request.target_us = double(tiny.target_us);
    request.preload_bytes = tiny.preload_bytes;
    request.seed = uint64_t(trial);
    const auto plan = MakePlan(world.input(), request);
    if (!plan.ok()) continue;
    ASSERT_EQ(plan->meets_target, EndOf(tiny, *plan) <= tiny.target_us) << trial;
    if (plan->meets_target) continue;
    for (uint32_t bits : plan->bits.values()) ASSERT_EQ(bits, 2u);
  }
}

}  // namespace
}  // namespace sti
