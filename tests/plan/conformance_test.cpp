// The paper's worked example and tables, and what AIBs promise, as whole plans.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "format/profile_file.h"
#include "plan/judge.h"
#include "world.h"

namespace sti {
namespace {

DeviceProfile ProfileOf(const std::string& name) {
  std::ifstream file(std::string(STI_SOURCE_DIR) + "/examples/devices/" + name);
  std::stringstream text;
  text << file.rdbuf();
  const std::string bytes = text.str();
  auto profile = ParseProfile({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, name);
  EXPECT_TRUE(profile.ok()) << profile.error().Message();
  return profile.ok() ? *profile : DeviceProfile();
}

/// The submodels that a strategy picks for 150, 200 and 400 ms on a BERT-base model.
std::string Row(const std::string& device, Strategy strategy, uint32_t bits,
                uint64_t preload_bytes = 0) {
  test::World world(12, 12, {2, 3, 4, 5, 6, 32}, {150000, 225000, 300000, 375000, 450000, 2360000});
  world.profile = ProfileOf(device);
  std::string row;
  for (double target_us : {150e3, 200e3, 400e3}) {
    PlanRequest request;
    request.strategy = strategy;
    if (bits != 0) request.uniform_bits = bits;
    request.target_us = target_us;
    request.preload_bytes = preload_bytes;
    const auto plan = MakePlan(world.input(), request);
    row += (row.empty() ? "" : " ") +
           (plan.ok() ? std::to_string(plan->layers.size()) + "x" + std::to_string(plan->width)
                      : std::string("none"));
  }
  return row;
}

// STI Table 6, its seven rows. Beside each that differs: the paper's cells, and why.
TEST(Conformance, Table6Odroid) {
  const char* device = "odroid.json";
  EXPECT_EQ(Row(device, Strategy::kSti, 0, 1000000), "3x3 5x3 10x3");
  EXPECT_EQ(Row(device, Strategy::kStiPaper, 0, 1000000), "3x3 5x3 10x3");
  EXPECT_EQ(Row(device, Strategy::kPreload, 32), "3x3 5x3 10x3");
  EXPECT_EQ(Row(device, Strategy::kPreload, 6), "3x3 5x3 10x3");
  EXPECT_EQ(Row(device, Strategy::kStdpl, 6), "3x3 4x3 10x3");
  // Paper: 3x3 4x3 10x3. 5x3 computes in 195 ms and its first layer loads in 3.3 of the 5 ms left;
  // the paper's flash was slower to start.
  EXPECT_EQ(Row(device, Strategy::kStdpl, 2), "3x3 5x3 10x3");
  // Paper: 1x4 1x5 3x3 for both rows at full fidelity. There a layer of 12 loads in 339 ms (section
  // 2), 28 ms a shard instead of the 13.5 of these rough figures, so slow that nothing overlaps;
  // and 1x5 at 200 ms beside 3x3 at 400 ms follows from the rule of 5.3 at no one bandwidth.
  EXPECT_EQ(Row(device, Strategy::kStdpl, 32), "2x3 3x3 8x3");
  EXPECT_EQ(Row(device, Strategy::kLoadExec, 0), "1x5 2x3 5x3");
}

TEST(Conformance, Table6Jetson) {
  const char* device = "jetson.json";
  EXPECT_EQ(Row(device, Strategy::kSti, 0, 5000000), "2x12 3x12 7x12");
  EXPECT_EQ(Row(device, Strategy::kStiPaper, 0, 5000000), "2x12 3x12 7x12");
  EXPECT_EQ(Row(device, Strategy::kPreload, 32), "2x12 3x12 7x12");
  EXPECT_EQ(Row(device, Strategy::kPreload, 6), "2x12 3x12 7x12");
  // Paper: 2x12 3x12 7x12. The first layer of 7x12 needs 19.2 ms of the 18.5 left.
  EXPECT_EQ(Row(device, Strategy::kStdpl, 2), "2x12 3x12 7x11");
  // Paper: 2x8 3x7 7x3. The paper kept the depth of 7 at less than half the shards; its own rule
  // (5.3: most shards, depth only among similar numbers) takes 6x11.
  EXPECT_EQ(Row(device, Strategy::kStdpl, 6), "2x8 3x7 6x11");
  // Paper: 2x1 3x1 5x1 for both rows: at full fidelity a layer loads slower than the 26 ms a shard
  // here, as on the Odroid.
  EXPECT_EQ(Row(device, Strategy::kStdpl, 32), "1x3 2x2 6x2");
  EXPECT_EQ(Row(device, Strategy::kLoadExec, 0), "1x3 1x5 2x5");
}

/// A random plan on a random device, in whole microseconds.
struct Case {
  test::World world;
  Plan plan;
  std::vector<std::vector<int64_t>> loads_us;  ///< of streamed shards, by layer
  int64_t layer_us = 0;
  int64_t last_us = 0;
  int64_t embed_io_us = 0;
  int64_t head_us = 0;
};

Case RandomCase(test::Random& random) {
  const uint32_t n = 1 + random.Below(5);
  const uint32_t m = 1 + random.Below(3);
  Case c{test::World(n, m, {2, 6}, {10, 30}), {}, {}, 0, 0, 0, 0};
  c.layer_us = 1 + random.Below(25);
  c.last_us = random.Below(2) == 0 ? c.layer_us : 1 + random.Below(30);
  c.embed_io_us = random.Below(3) == 0 ? random.Below(12) : 0;
  c.head_us = random.Below(5);
  const int64_t low_us = 1 + random.Below(8);
  const int64_t high_us = low_us + random.Below(12);
  c.world.Compute(m, [&](uint32_t) { return static_cast<double>(c.layer_us); });
  if (c.last_us != c.layer_us) c.world.Last(m, static_cast<double>(c.last_us));
  c.world.Io({static_cast<double>(low_us), static_cast<double>(high_us)});
  c.world.profile.fixed = {
      {128, 0, static_cast<double>(c.embed_io_us), static_cast<double>(c.head_us)}};
  c.plan.model = test::Model();
  c.plan.strategy = Strategy::kSti;
  c.plan.length = 128;
  c.plan.width = m;
  c.loads_us.resize(n);
  const bool prefix_only = random.Below(2) == 0;
  uint32_t preloaded = random.Below(n * m + 1);
  c.plan.slices = Grid<uint32_t>(n, m);
  c.plan.bits = Grid<uint32_t>(n, m);
  for (uint32_t k = 0; k < n; ++k) {
    c.plan.layers.push_back(k);
    for (uint32_t i = 0; i < m; ++i) {
      const uint32_t bits = random.Below(2) == 0 ? 2 : 6;
      c.plan.slices.At(k, i) = i;
      c.plan.bits.At(k, i) = bits;
      const bool held = prefix_only ? k * m + i < preloaded : random.Below(3) == 0;
      if (held) {
        c.plan.preload.push_back({{k, i}, bits});
      } else {
        c.loads_us[k].push_back(bits == 2 ? low_us : high_us);
      }
    }
  }
  return c;
}

// A plan is valid iff an event simulator, which shares no code with the planner, has the label by
// T; with slack 0 iff nothing stalls but for the embedding rows.
TEST(Conformance, ValidIffInTimeAndStallFreeIffValidWithoutSlack) {
  test::Random random(41);
  int valid = 0;
  int stall_free = 0;
  constexpr int kCases = 100000;
  for (int trial = 0; trial < kCases; ++trial) {
    Case c = RandomCase(random);
    const auto n = static_cast<int64_t>(c.plan.layers.size());
    int64_t stalls = 0;
    const int64_t end =
        test::SimulateEvents(c.loads_us, c.layer_us, c.last_us, c.embed_io_us, &stalls) + c.head_us;
    const int64_t least = (n - 1) * c.layer_us + c.last_us + c.head_us;
    const int64_t slack = static_cast<int64_t>(random.Below(60));
    c.plan.target_us = static_cast<double>(least + slack);
    const auto check = CheckPlan(c.world.input(), Judging(), c.plan);
    ASSERT_TRUE(check.ok()) << check.error().Message();
    ASSERT_EQ(check->valid, end <= least + slack) << trial;
    ASSERT_DOUBLE_EQ(check->p99_us, static_cast<double>(end)) << trial;
    valid += check->valid ? 1 : 0;
    c.plan.target_us = static_cast<double>(least);
    const auto tight = CheckPlan(c.world.input(), Judging(), c.plan);
    ASSERT_EQ(tight->valid, stalls == 0) << trial;
    stall_free += tight->valid ? 1 : 0;
  }
  EXPECT_GT(valid, kCases / 10);
  EXPECT_LT(valid, kCases * 9 / 10);
  EXPECT_GT(stall_free, kCases / 50);
}

}  // namespace
}  // namespace sti
