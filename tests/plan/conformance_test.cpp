// The paper's worked example and tables, and what AIBs promise, as whole plans.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/utf8.h"
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
  auto profile = ParseProfile(AsBytes(bytes), name);
  EXPECT_TRUE(profile.ok()) << profile.error().Message();
  return profile.ok() ? *profile : DeviceProfile();
}

test::World BertBaseOn(const std::string& device) {
  test::World world(12, 12, {2, 3, 4, 5, 6, 32}, {150000, 225000, 300000, 375000, 450000, 2360000});
  world.profile = ProfileOf(device);
  return world;
}

constexpr std::array<double, 3> kTargets_us = {150e3, 200e3, 400e3};

/// The submodel that a strategy picks for a target on a BERT-base model.
std::string Cell(const test::World& world, Strategy strategy, uint32_t bits, double target_us,
                 uint64_t preload_bytes = 0) {
  PlanRequest request;
  request.strategy = strategy;
  if (bits != 0) request.uniform_bits = bits;
  request.target_us = target_us;
  request.preload_bytes = preload_bytes;
  const auto plan = MakePlan(world.input(), request);
  if (!plan.ok()) return "none";
  return std::to_string(plan->layers.size()) + "x" + std::to_string(plan->width);
}

/// Its cells for the three targets of Table 6.
std::string Row(const test::World& world, Strategy strategy, uint32_t bits,
                uint64_t preload_bytes = 0) {
  std::string row;
  for (double target_us : kTargets_us) {
    if (!row.empty()) row += " ";
    row += Cell(world, strategy, bits, target_us, preload_bytes);
  }
  return row;
}

/// Whether a strategy picks these submodels, separated by spaces. Stops at the first other.
bool Picks(const test::World& world, Strategy strategy, uint32_t bits, const std::string& row) {
  std::istringstream cells(row);
  std::string cell;
  return std::all_of(kTargets_us.begin(), kTargets_us.end(), [&](double target_us) {
    cells >> cell;
    return Cell(world, strategy, bits, target_us) == cell;
  });
}

/// The times of loading a shard of `bits` that give this row of Table 6, as "from-to" in ms; "none"
/// where no time does. Tries every tenth of a millisecond up to 10 ms, every half up to 40.
std::string LoadTimesOf(const std::string& row, const std::string& device, Strategy strategy,
                        uint32_t bits) {
  const test::World rough = BertBaseOn(device);
  std::vector<double> fitting_ms;
  std::string ranges;
  const auto end_range = [&] {
    if (fitting_ms.empty()) return;
    char range[32];
    std::snprintf(range, sizeof(range), "%.1f-%.1f", fitting_ms.front(), fitting_ms.back());
    ranges += (ranges.empty() ? "" : " ") + std::string(range);
    fitting_ms.clear();
  };
  for (int tenths = 1; tenths <= 400; tenths += tenths < 100 ? 1 : 5) {
    test::World world = rough;
    const double load_us = tenths * 100.0;
    for (IoSample& sample : world.profile.io) {  // fewer bits never load slower
      if (sample.bits == bits) sample.load_us = load_us;
      if (sample.bits < bits) sample.load_us = std::min(sample.load_us, load_us);
      if (sample.bits > bits) sample.load_us = std::max(sample.load_us, load_us);
      sample.p99_us = sample.load_us;
    }
    if (Picks(world, strategy, bits, row)) {
      fitting_ms.push_back(tenths / 10.0);
    } else {
      end_range();
    }
  }
  end_range();
  return ranges.empty() ? "none" : ranges;
}

// STI Table 6, its seven rows, on the example devices. The paper prints no time of loading a shard;
// those of the examples are made up, near what its bandwidths allow. Beside each row that differs:
// the paper's cells.
TEST(Conformance, Table6Odroid) {
  const test::World odroid = BertBaseOn("odroid.json");
  EXPECT_EQ(Row(odroid, Strategy::kSti, 0, 1000000), "3x3 5x3 10x3");
  EXPECT_EQ(Row(odroid, Strategy::kStiPaper, 0, 1000000), "3x3 5x3 10x3");
  EXPECT_EQ(Row(odroid, Strategy::kPreload, 32), "3x3 5x3 10x3");
  EXPECT_EQ(Row(odroid, Strategy::kPreload, 6), "3x3 5x3 10x3");
  EXPECT_EQ(Row(odroid, Strategy::kStdpl, 6), "3x3 4x3 10x3");
  EXPECT_EQ(Row(odroid, Strategy::kStdpl, 2), "3x3 5x3 10x3");    // 3x3 4x3 10x3
  EXPECT_EQ(Row(odroid, Strategy::kStdpl, 32), "2x3 3x3 8x3");    // 1x4 1x5 3x3
  EXPECT_EQ(Row(odroid, Strategy::kLoadExec, 0), "1x5 2x3 5x3");  // 1x4 1x5 3x3
}

TEST(Conformance, Table6Jetson) {
  const test::World jetson = BertBaseOn("jetson.json");
  EXPECT_EQ(Row(jetson, Strategy::kSti, 0, 5000000), "2x12 3x12 7x12");
  EXPECT_EQ(Row(jetson, Strategy::kStiPaper, 0, 5000000), "2x12 3x12 7x12");
  EXPECT_EQ(Row(jetson, Strategy::kPreload, 32), "2x12 3x12 7x12");
  EXPECT_EQ(Row(jetson, Strategy::kPreload, 6), "2x12 3x12 7x12");
  EXPECT_EQ(Row(jetson, Strategy::kStdpl, 2), "2x12 3x12 7x11");  // 2x12 3x12 7x12
  EXPECT_EQ(Row(jetson, Strategy::kStdpl, 6), "2x8 3x7 6x11");    // 2x8 3x7 7x3
  EXPECT_EQ(Row(jetson, Strategy::kStdpl, 32), "1x3 2x2 6x2");    // 2x1 3x1 5x1
  EXPECT_EQ(Row(jetson, Strategy::kLoadExec, 0), "1x3 1x5 2x5");  // 2x1 3x1 5x1
}

// Which times of loading a shard give the paper's rows exactly, where each row is searched on its
// own. Where one does, the paper's flash may have been so fast.
TEST(Conformance, LoadTimesThatGiveTable6) {
  const auto odroid = [](const char* row, Strategy strategy, uint32_t bits) {
    return LoadTimesOf(row, "odroid.json", strategy, bits);
  };
  EXPECT_EQ(odroid("1x4 1x5 3x3", Strategy::kLoadExec, 32), "20.5-24.5");
  EXPECT_EQ(odroid("3x3 4x3 10x3", Strategy::kStdpl, 2), "1.7-3.3");
  EXPECT_EQ(odroid("3x3 4x3 10x3", Strategy::kStdpl, 6), "1.7-3.3");
  // The paper's row for whole shards in a pipeline is that of Load&Exec, cell by cell. With IO and
  // compute overlapped, 400 ms have room for more than 3x3 wherever 150 ms have room for 1x4.
  EXPECT_EQ(odroid("1x4 1x5 3x3", Strategy::kStdpl, 32), "none");

  const auto jetson = [](const char* row, Strategy strategy, uint32_t bits) {
    return LoadTimesOf(row, "jetson.json", strategy, bits);
  };
  EXPECT_EQ(jetson("2x12 3x12 7x12", Strategy::kStdpl, 2), "0.1-1.5");
  // 5x1 computes in 273 ms of the 400, so a shard loads in 25 ms; then 200 ms have room for 1x5,
  // five shards where the paper's 3x1 has three (5.3: most shards, depth among similar numbers).
  EXPECT_EQ(jetson("2x1 3x1 5x1", Strategy::kLoadExec, 32), "none");
  EXPECT_EQ(jetson("2x1 3x1 5x1", Strategy::kStdpl, 32), "none");
  // 4.6 to 5.1 ms give 2x8 3x7; at 400 ms they have room for 6x11, 66 shards where 7x3 has 21.
  EXPECT_EQ(jetson("2x8 3x7 7x3", Strategy::kStdpl, 6), "none");
  EXPECT_EQ(jetson("2x8 3x7 6x11", Strategy::kStdpl, 6), "4.8-5.1");
}

/// A random plan on a random device, in whole microseconds.
struct TimedPlan {
  test::World world;
  Plan plan;
  std::vector<std::vector<int64_t>> loads_us;  ///< of streamed shards, by layer
  int64_t layer_us = 0;
  int64_t last_us = 0;
  int64_t embed_io_us = 0;
  int64_t head_us = 0;
};

TimedPlan RandomCase(test::Random& random) {
  const uint32_t n = 1 + random.Below(5);
  const uint32_t m = 1 + random.Below(3);
  TimedPlan c{test::World(n, m, {2, 6}, {10, 30}), {}, {}, 0, 0, 0, 0};
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
    TimedPlan c = RandomCase(random);
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
