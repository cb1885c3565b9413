#include "plan/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/random.h"

namespace sti {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// A cluster of devices one by one: each is of a kind, and two may be alike.
struct Cluster {
  uint32_t layers = 1;
  std::vector<uint32_t> devices;  ///< [kinds] how many
  PartitionTimes times{1, 1};

  [[nodiscard]] std::vector<uint32_t> KindOfEach() const {
    std::vector<uint32_t> kinds;
    for (uint32_t kind = 0; kind < devices.size(); ++kind)
      kinds.insert(kinds.end(), devices[kind], kind);
    return kinds;
  }
};

// Few different times, so that there are ties; stages beyond a device's memory do not fit, and some
// devices are not linked.
Cluster RandomCluster(TestRandom& random) {
  Cluster cluster;
  cluster.layers = 1 + static_cast<uint32_t>(random.Below(8));
  const auto kinds = 1 + static_cast<uint32_t>(random.Below(3));
  uint64_t left = 5;
  for (uint32_t kind = 0; kind < kinds; ++kind) {
    cluster.devices.push_back(static_cast<uint32_t>(random.Below(left + 1)));
    left -= cluster.devices.back();
  }
  cluster.times = PartitionTimes(cluster.layers, kinds);
  std::vector<uint64_t> work;
  for (uint32_t i = 0; i < cluster.layers; ++i) work.push_back(1 + random.Below(6));
  for (uint32_t kind = 0; kind < kinds; ++kind) {
    const uint64_t slowness = 1 + random.Below(4);
    const uint64_t memory = 1 + random.Below(uint64_t{cluster.layers} + 2);
    for (uint32_t begin = 0; begin < cluster.layers; ++begin) {
      uint64_t sum = 0;
      for (uint32_t end = begin + 1; end <= cluster.layers; ++end) {
        sum += work[end - 1] * slowness;
        const bool odd = random.Below(40) == 0;  // what fits need not be a matter of length
        if ((end - begin <= memory) == odd) continue;
        cluster.times.SetStage(begin, end, kind, static_cast<double>(sum));
      }
    }
  }
  for (uint32_t from = 0; from < kinds; ++from) {
    for (uint32_t to = 0; to < kinds; ++to) {
      if (random.Below(8) == 0) continue;
      const uint64_t slowness = 1 + random.Below(5);
      for (uint32_t end = 1; end < cluster.layers; ++end) {
        cluster.times.SetTransfer(end, from, to,
                                  static_cast<double>(slowness * (1 + random.Below(4))));
      }
    }
  }
  return cluster;
}

struct Best {
  double period_us = kNever;
  size_t stages = 0;
};

// Tries every order of devices with every cut.
void TryAll(const Cluster& cluster, const std::vector<uint32_t>& kinds, std::vector<bool>& taken,
            std::vector<PartitionStage>& stages, Best* best) {
  const uint32_t begin = stages.empty() ? 0 : stages.back().end;
  if (begin == cluster.layers) {
    const double period_us = PeriodOf(cluster.times, stages);
    if (period_us < best->period_us) *best = {period_us, stages.size()};
    if (period_us == best->period_us) best->stages = std::min(best->stages, stages.size());
    return;
  }
  for (size_t device = 0; device < kinds.size(); ++device) {
    if (taken[device]) continue;
    taken[device] = true;
    for (uint32_t end = begin + 1; end <= cluster.layers; ++end) {
      stages.push_back({kinds[device], begin, end});
      TryAll(cluster, kinds, taken, stages, best);
      stages.pop_back();
    }
    taken[device] = false;
  }
}

Best BruteForce(const Cluster& cluster) {
  const std::vector<uint32_t> kinds = cluster.KindOfEach();
  std::vector<bool> taken(kinds.size());
  std::vector<PartitionStage> stages;
  Best best;
  TryAll(cluster, kinds, taken, stages, &best);
  return best;
}

// The same cluster with a kind for each device, so that counts are sets.
Cluster EachAlone(const Cluster& cluster) {
  const std::vector<uint32_t> kinds = cluster.KindOfEach();
  const auto count = static_cast<uint32_t>(kinds.size());
  Cluster alone{cluster.layers, std::vector<uint32_t>(count, 1),
                PartitionTimes(cluster.layers, count)};
  for (uint32_t device = 0; device < count; ++device) {
    for (uint32_t begin = 0; begin < cluster.layers; ++begin) {
      for (uint32_t end = begin + 1; end <= cluster.layers; ++end)
        alone.times.SetStage(begin, end, device, cluster.times.Stage(begin, end, kinds[device]));
    }
    for (uint32_t to = 0; to < count; ++to) {
      for (uint32_t end = 1; end < cluster.layers; ++end)
        alone.times.SetTransfer(end, device, to,
                                cluster.times.Transfer(end, kinds[device], kinds[to]));
    }
  }
  return alone;
}

// Plays a pipeline input by input, in which each stage and each link does one at a time, and
// returns the time between two of the last answers.
double PlayedPeriod(const PartitionTimes& times, const std::vector<PartitionStage>& stages) {
  std::vector<double> lanes;  // stage, link, stage and so on
  for (size_t i = 0; i < stages.size(); ++i) {
    lanes.push_back(times.Stage(stages[i].begin, stages[i].end, stages[i].kind));
    if (i + 1 < stages.size())
      lanes.push_back(times.Transfer(stages[i].end, stages[i].kind, stages[i + 1].kind));
  }
  std::vector<double> free(lanes.size());
  double last = 0;
  double before = 0;
  for (int input = 0; input < 50; ++input) {
    double at = 0;
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      at = std::max(at, free[lane]) + lanes[lane];
      free[lane] = at;
    }
    before = last;
    last = at;
  }
  return last - before;
}

void ExpectIsPartition(const Cluster& cluster, const Partition& partition) {
  std::vector<uint32_t> used(cluster.devices.size());
  uint32_t end = 0;
  for (const PartitionStage& stage : partition.stages) {
    EXPECT_EQ(stage.begin, end);
    EXPECT_LT(stage.begin, stage.end);
    end = stage.end;
    ++used[stage.kind];
  }
  EXPECT_EQ(end, cluster.layers);
  for (size_t kind = 0; kind < used.size(); ++kind) EXPECT_LE(used[kind], cluster.devices[kind]);
  EXPECT_EQ(PeriodOf(cluster.times, partition.stages), partition.period_us);
}

TEST(Partition, IsTheBestOfAllAsSetsAndAsCounts) {
  TestRandom random(63);
  int feasible = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Cluster cluster = RandomCluster(random);
    const Best expected = BruteForce(cluster);
    const auto counts = BestPartition(cluster.times, cluster.devices);
    const Cluster alone = EachAlone(cluster);
    const auto sets = BestPartition(alone.times, alone.devices);
    ASSERT_EQ(counts.has_value(), expected.period_us < kNever) << i;
    ASSERT_EQ(sets.has_value(), counts.has_value()) << i;
    if (!counts) continue;
    ++feasible;
    ExpectIsPartition(cluster, *counts);
    ExpectIsPartition(alone, *sets);
    ASSERT_EQ(counts->period_us, expected.period_us) << i;
    ASSERT_EQ(counts->stages.size(), expected.stages) << i;
    ASSERT_EQ(sets->period_us, expected.period_us) << i;
    ASSERT_EQ(sets->stages.size(), expected.stages) << i;
    ASSERT_EQ(PlayedPeriod(cluster.times, counts->stages), counts->period_us) << i;
  }
  EXPECT_GT(feasible, 3'000);
  EXPECT_LT(feasible, 9'000);
}

// A device that is fast and far away is left out where sending to it takes longer than its work.
TEST(Partition, LeavesOutADeviceThatIsNotWorthItsLink) {
  PartitionTimes times(4, 2);
  for (uint32_t begin = 0; begin < 4; ++begin) {
    for (uint32_t end = begin + 1; end <= 4; ++end) {
      times.SetStage(begin, end, 0, 10.0 * (end - begin));
      times.SetStage(begin, end, 1, 1.0 * (end - begin));
    }
  }
  for (uint32_t end = 1; end < 4; ++end) {
    times.SetTransfer(end, 0, 0, 1);
    times.SetTransfer(end, 0, 1, 25);
    times.SetTransfer(end, 1, 0, 25);
  }
  const auto near = BestPartition(times, {2, 0});
  ASSERT_TRUE(near);
  EXPECT_EQ(near->period_us, 20);
  EXPECT_EQ(near->stages, (std::vector<PartitionStage>{{0, 0, 2}, {0, 2, 4}}));
  const auto alone = BestPartition(times, {2, 1});
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->stages, (std::vector<PartitionStage>{{1, 0, 4}}))
      << "by itself it needs no link";
  EXPECT_FALSE(BestPartition(times, {0, 0}));
}

TEST(Partition, CountsItsStatesWithoutOverflow) {
  EXPECT_EQ(PartitionStates(12, {3, 3, 3}), 12U * 3 * 64);
  EXPECT_EQ(PartitionStates(UINT32_MAX, std::vector<uint32_t>(20, UINT32_MAX)),
            kMostPartitionStates + 1);
  EXPECT_EQ(PartitionStates(1, {}), 0U);
}

}  // namespace
}  // namespace sti
