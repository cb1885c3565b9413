// Plans for devices where the bits of a shard change how long it takes to compute with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "plan/search/context.h"
#include "plan/search/joint.h"
#include "support/expect.h"
#include "world.h"

namespace sti {
namespace {

/// Returns what a layer of the small device takes at 6 bits.
double LayerAt6Us(uint32_t width, bool last) {
  return last ? (width == 1 ? 25 : 45) : 40.0 * width;
}

/// A small device: 2x2 shards, T_comp of 40 us for each slice, and any bits adding up to 12 us to
/// it or taking as much off.
test::World Small(test::Random* random) {
  test::World world(2, 2, {2, 4, 6, 32}, {10, 20, 30, 160});
  world.Compute(1, [](uint32_t m) { return LayerAt6Us(m, false); });
  for (const uint32_t width : {1U, 2U}) world.Last(width, LayerAt6Us(width, true));
  world.Io({8, 16, 24, 128});
  for (const uint32_t bits : {2U, 4U, 32U})
    world.profile.decode.push_back({bits, 12.0 - random->Below(25)});
  world.MeasureSubmodels();
  return world;
}

double DecodeUs(const test::World& world, uint32_t bits) {
  for (const DecodeSample& sample : world.profile.decode) {
    if (sample.bits == bits) return sample.extra_us;
  }
  return 0;
}

/// Returns when the label of a plan is there, worked out from its bits alone: a layer begins when
/// the one before has ended and its shards are there.
double LatencyAnew(const test::World& world, const Plan& plan) {
  double io_us = 0;
  double end_us = 0;
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    const bool last = k + 1 == plan.layers.size();
    double layer_us = LayerAt6Us(plan.width, last);
    for (uint32_t i = 0; i < plan.width; ++i) {
      const uint32_t bits = plan.bits.At(k, i);
      const ShardAtBits shard{plan.Id(k, i), bits};
      const bool held =
          std::find(plan.preload.begin(), plan.preload.end(), shard) != plan.preload.end();
      if (!held) io_us += bits == 32 ? 128 : 4.0 * bits;
      layer_us += DecodeUs(world, bits);
    }
    end_us = std::max(end_us, io_us) + layer_us;
  }
  return end_us;
}

/// The least loss of any bits and preloaded prefix of a submodel that is in time; nothing if none
/// is.
std::optional<double> LeastLoss(const test::World& world, const PlanningContext& context,
                                const Submodel& submodel) {
  const size_t shards = submodel.shards();
  const size_t levels = context.costs.levels();
  std::optional<double> least;
  Allocation allocation = context.AllocationOf(submodel);
  Plan plan = context.PlanOf(allocation);
  size_t codes = 1;
  for (size_t shard = 0; shard < shards; ++shard) codes *= levels;
  for (size_t code = 0; code < codes; ++code) {
    std::vector<size_t> chosen(shards);
    size_t rest = code;
    for (size_t& level : chosen) {
      level = rest % levels;
      rest /= levels;
    }
    allocation.SetLevels(chosen);
    plan = context.PlanOf(allocation);
    if (LatencyAnew(world, plan) > *context.request.target_us + 1e-3) continue;
    const double loss = context.LossOf(allocation);
    if (!least || loss < *least) least = loss;
  }
  return least;
}

TEST(Decoding, BitsAreHardlyWorseThanTheBestOfAll) {
  test::Random random(3);
  double missed = 0;
  int cases = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const test::World world = Small(&random);
    PlanRequest request = test::RequestFor(100 + random.Below(300));
    request.preload_bytes = random.Below(3) * 40;
    const CheckedInput input = world.checked();
    const auto context = PlanningContext::Make(input, request, {.length = 128}, nullptr);
    ASSERT_TRUE(Succeeded(context));
    for (const Submodel& submodel : context->submodels) {
      const std::optional<double> least = LeastLoss(world, *context, submodel);
      const std::optional<Allocation> found = BestBits(*context, submodel);
      // A plan that is only in time at more bits than the fewest, as these are slow, may be missed.
      if (!found) continue;
      ASSERT_TRUE(least) << trial;
      const double loss = context->LossOf(*found);
      ASSERT_GE(loss, *least - 1e-9) << trial;
      missed += (loss - *least) / *least;
      ++cases;
    }
  }
  EXPECT_GT(cases, 500);
  EXPECT_LT(missed / cases, 0.01);
  std::printf("bits that take time                      mean %6.3f %%, %d cases\n",
              100 * missed / cases, cases);
}

TEST(Decoding, AFallbackTakesWhatTheFewestBitsTake) {
  test::World world(2, 2, {2, 4, 6, 32}, {10, 20, 30, 160});
  world.Compute(1, [](uint32_t m) { return 4000.0 * m; });
  world.Io({800, 1600, 2400, 12800});
  world.profile.decode = {{2, 700}, {4, -300}};
  world.MeasureSubmodels();
  PlanRequest request = test::RequestFor(40e3);
  request.preload_bytes = 60;
  request.mode = PlanRequest::Guaranteed{};
  const auto plan = MakePlan(world.input(), request);
  ASSERT_TRUE(Succeeded(plan));
  ASSERT_TRUE(plan->fallback);
  EXPECT_EQ(plan->fallback->bits, 2U);
  EXPECT_EQ(plan->fallback->layer_us, 4700.0 * plan->fallback->width);
  EXPECT_EQ(plan->fallback->last_layer_us, 4700.0 * plan->fallback->width);
}

}  // namespace
}  // namespace sti
