// How far later turns are from the best there is (docs/measured/planning.md, "How far plans are
// from the best"): every choice of bits is tried.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "exact_plan.h"
#include "plan/search/context.h"
#include "random_world.h"
#include "world.h"

namespace sti {
namespace {

/// One choice of bits for all shards, in layer order.
using Levels = std::vector<size_t>;

/// The choices that one turn has, judged by sums over plain vectors.
class TurnChoices {
 public:
  /// `before` are the bits of the turn before, which left what fits `buffer` bytes in memory.
  TurnChoices(const PlanningContext& context, Levels before, uint64_t buffer)
      : context_(context),
        lowest_(context.AllocationOf(context.submodels[0])),
        before_(std::move(before)),
        buffer_(buffer),
        held_(context.costs.Holding(Kept(before_), context.input->catalog.block_bytes,
                                    context.devices.deciding())),
        exact_(test::ExactOf(context, context.submodels[0])) {}

  /// Returns the shards that stay in memory of a turn with these bits: the longest prefix that
  /// fits the buffer.
  [[nodiscard]] std::vector<ShardAtBits> Kept(const Levels& levels) const {
    std::vector<ShardAtBits> kept;
    uint64_t bytes = 0;
    for (size_t shard = 0; shard < levels.size(); ++shard) {
      bytes += context_.costs.bytes(lowest_.IdOf(shard), levels[shard]);
      if (bytes > buffer_) break;
      kept.push_back({lowest_.IdOf(shard), context_.costs.bits()[levels[shard]]});
    }
    return kept;
  }
  [[nodiscard]] uint64_t ReadBytes(const Levels& levels) const {
    uint64_t bytes = 0;
    for (size_t shard = 0; shard < levels.size(); ++shard)
      bytes += held_.bytes(lowest_.IdOf(shard), levels[shard]);
    return bytes;
  }
  /// Whether a turn may have these bits: its own reads are in time, and the turns behind it, which
  /// begin with what it leaves, can have them as well and read no more.
  [[nodiscard]] bool MayHave(const Levels& levels) const {
    if (!InTime(held_, levels, 0)) return false;
    const size_t kept = Kept(levels).size();
    uint64_t later_bytes = 0;
    for (size_t shard = kept; shard < levels.size(); ++shard)
      later_bytes += context_.costs.bytes(lowest_.IdOf(shard), levels[shard]);
    return later_bytes <= ReadBytes(levels) && InTime(context_.costs, levels, kept);
  }
  [[nodiscard]] double Lack(const Levels& levels) const {
    double sum = 0;
    for (size_t shard = 0; shard < levels.size(); ++shard)
      sum += exact_.loss[shard * exact_.levels + levels[shard]];
    return sum;
  }

  /// The least lack of all choices that are no worse for any shard than the turn before and read
  /// less than `read_bytes`; that of the turn before, if there is none.
  [[nodiscard]] double Best(uint64_t read_bytes) const {
    double best = Lack(before_);
    Levels levels = before_;
    for (;;) {
      size_t shard = 0;
      while (shard < levels.size() && levels[shard] + 1 == exact_.levels) {
        levels[shard] = before_[shard];
        ++shard;
      }
      if (shard == levels.size()) return best;
      ++levels[shard];
      if (ReadBytes(levels) < read_bytes && MayHave(levels)) best = std::min(best, Lack(levels));
    }
  }

 private:
  [[nodiscard]] bool InTime(const ShardCosts& costs, const Levels& levels, size_t preloaded) const {
    double io_us = 0;
    for (size_t shard = preloaded; shard < levels.size(); ++shard) {
      io_us += costs.load_us(lowest_.IdOf(shard), levels[shard]);
      if (io_us > static_cast<double>(exact_.capacity_us[shard / exact_.width]) + 1e-6)
        return false;
    }
    return exact_.rows_us >= 0 && exact_.capacity_us[0] >= 0;
  }

  const PlanningContext& context_;
  const Allocation lowest_;
  const Levels before_;
  const uint64_t buffer_;
  const ShardCosts held_;
  const test::ExactProblem exact_;
};

Levels LevelsOf(const PlanningContext& context, const Grid<uint32_t>& bits) {
  Levels levels;
  for (uint32_t value : bits.values()) levels.push_back(*context.costs.LevelOf(value));
  return levels;
}

// Turns 2 and 3 of plans for models of at most five shards. What is missed is a part of what the
// turn could gain over the one before.
TEST(Yardstick, LaterTurns) {
  test::Random random(25);
  test::Missed shipped;
  for (int trial = 0; trial < 4000; ++trial) {
    const test::World world = test::RandomWorld(random, trial % 3 == 0 ? 5 : 2);
    const auto& shape = world.info.shape;
    if (shape.layers * shape.width > 5) continue;
    PlanRequest request;
    request.submodel = {shape.layers, shape.width};
    request.target_us = test::TightTarget(world, random);
    request.mode = PlanRequest::Turns{3, random.Below(8 + 30 * shape.layers * shape.width)};
    const auto plan = MakePlan(world.input(), request);
    if (!plan.ok()) continue;
    ASSERT_EQ(plan->turns.size(), 3U);
    const CheckedInput input = world.checked();
    const auto context = PlanningContext::Make(input, request, {.length = 128}, nullptr);
    ASSERT_TRUE(context.ok()) << context.error().Message();
    for (size_t at = 1; at < 3; ++at) {
      const PlanTurn& before = plan->turns[at - 1];
      const PlanTurn& turn = plan->turns[at];
      const TurnChoices choices(*context, LevelsOf(*context, before.bits), *request.turns()->bytes);
      const Levels levels = LevelsOf(*context, turn.bits);
      ASSERT_EQ(turn.preload, choices.Kept(LevelsOf(*context, before.bits))) << trial;
      ASSERT_EQ(turn.read_bytes, choices.ReadBytes(levels)) << trial;
      const double floor = choices.Lack(LevelsOf(*context, before.bits));
      const double best = choices.Best(before.read_bytes);
      if (turn.bits != before.bits) {
        ASSERT_TRUE(choices.MayHave(levels)) << trial;
        ASSERT_LT(turn.read_bytes, before.read_bytes) << trial;
      }
      if (floor - best < 1e-9) continue;  // nothing to gain
      const double missed = (choices.Lack(levels) - best) / (floor - best);
      ASSERT_GE(missed, -1e-9) << trial;
      shipped.Add(missed);
    }
  }
  shipped.Print("bits of later turns, shipped");
  EXPECT_GT(shipped.cases, 200);
  EXPECT_LT(shipped.sum / shipped.cases, 0.02);
}

}  // namespace
}  // namespace sti
