// Properties of the plans of any request, on random devices and models: a plan leaves nothing that
// it could take, a bound that it keeps changes nothing, and what was asked for is in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "format/plan_file.h"
#include "plan/judge.h"
#include "plan/planner.h"
#include "plan/timeline.h"
#include "second_world.h"

namespace sti::test {
namespace {

/// Names the first shard of `part`, which is `whole` or one of its variants, that could have more
/// bits in a plan that is judged to be as valid; empty if there is none.
std::string CouldHaveMore(const SecondWorld& drawn, Plan& whole, PlanCore& part) {
  const std::vector<uint32_t>& stored = drawn.world.catalog.bits;
  for (uint32_t k = 0; k < part.layers.size(); ++k) {
    for (uint32_t i = 0; i < part.width; ++i) {
      const auto is_it = [id = part.Id(k, i)](const ShardAtBits& shard) { return shard.id == id; };
      const uint32_t bits = part.bits.At(k, i);
      if (bits == stored.back() || std::ranges::any_of(whole.preload, is_it)) continue;
      part.bits.At(k, i) = *std::ranges::upper_bound(stored, bits);
      const Result<Verdicts> verdicts = JudgePlan(drawn.Input(), drawn.request.judging, whole);
      part.bits.At(k, i) = bits;
      if (verdicts.ok() && verdicts->problem().empty()) {
        return "slice " + std::to_string(i) + " of layer " + std::to_string(k) + ", at " +
               std::to_string(bits) + " bits for " + std::to_string(part.length) + " tokens";
      }
    }
  }
  return "";
}

/// Draws requests until a plan of the strategy sti, of bits that the planner chooses, was made.
Plan NextChosen(Random& random, SecondWorld* drawn) {
  while (true) {
    *drawn = SecondWorld(random);
    drawn->world.profile.decode.clear();  // more bits could then take less time
    const bool other = drawn->asked == Asked::kTurns || drawn->asked == Asked::kCascade ||
                       drawn->asked == Asked::kCold || drawn->request.min_accuracy;
    if (other || drawn->request.strategy != Strategy::kSti || drawn->request.uniform_bits) continue;
    Result<Plan> plan = MakePlan(drawn->Input(), drawn->request);
    if (plan.ok()) return std::move(*plan);
  }
}

TEST(RandomRequests, NoStreamedShardCouldHaveMoreBits) {
  Random random(71);
  SecondWorld drawn(random);
  int guaranteed_and_woken = 0;
  int guaranteed_variants = 0;
  for (int done = 0; done < 1200; ++done) {
    Plan plan = NextChosen(random, &drawn);
    ASSERT_EQ(CouldHaveMore(drawn, plan, plan), "") << done << ": " << drawn.Name();
    for (PlanCore& variant : plan.variants)
      ASSERT_EQ(CouldHaveMore(drawn, plan, variant), "") << done << ": " << drawn.Name();
    if (!plan.fallback) continue;
    guaranteed_and_woken += plan.wake_us > 0 ? 1 : 0;
    guaranteed_variants += plan.variants.empty() || plan.preload.empty() ? 0 : 1;
  }
  EXPECT_GT(guaranteed_and_woken, 50);
  EXPECT_GT(guaranteed_variants, 50);
}

/// All that a plan says, but for what a guarantee costs: a plan without one may take more memory.
std::string AllButCosts(Plan plan) {
  if (plan.fallback) plan.fallback->cost_bits = 0;
  for (PlanCore& variant : plan.variants) {
    if (variant.fallback) variant.fallback->cost_bits = 0;
  }
  return PlanToJson(plan);
}

TEST(RandomRequests, AMemoryThatAPlanKeepsChangesNothing) {
  Random random(72);
  int with_accuracy = 0;
  int guaranteed_variants = 0;
  for (int done = 0; done < 1200;) {
    SecondWorld drawn(random);
    // By gains a plan may lose less and yet be right less often, and a longer time not help.
    drawn.world.importance.gains.clear();
    drawn.world.importance.gain_bits.clear();
    const Result<Plan> plan = MakePlan(drawn.Input(), drawn.request);
    if (!plan.ok()) continue;
    ++done;
    with_accuracy += drawn.request.min_accuracy ? 1 : 0;
    guaranteed_variants += plan->fallback && !plan->variants.empty() ? 1 : 0;
    // The block in which a fallback's planes of a shard end is counted twice.
    const size_t twice = plan->fallback ? plan->preload.size() : 0;
    drawn.request.judging.memory_bytes =
        plan->predicted_peak_bytes + twice * drawn.world.catalog.block_bytes;
    const Result<Plan> bounded = MakePlan(drawn.Input(), drawn.request);
    ASSERT_TRUE(bounded.ok()) << drawn.Name() << ": " << bounded.error().Message();
    ASSERT_EQ(AllButCosts(*bounded), AllButCosts(*plan)) << drawn.Name();
  }
  EXPECT_GT(with_accuracy, 50);
  EXPECT_GT(guaranteed_variants, 50);
}

/// Draws requests until a plan of the strategy sti was made that has the memory to itself: of what
/// several share a part may have more than another leaves.
Plan NextAlone(Random& random, SecondWorld* drawn) {
  while (true) {
    *drawn = SecondWorld(random);
    const PlanRequest& request = drawn->request;
    const bool shared = drawn->asked == Asked::kTurns || drawn->asked == Asked::kLengths ||
                        drawn->asked == Asked::kClocks || drawn->asked == Asked::kCascade;
    const bool fixed = request.uniform_bits || request.io_budget_bytes || request.min_accuracy;
    if (shared || fixed || request.strategy != Strategy::kSti) continue;
    Result<Plan> plan = MakePlan(drawn->Input(), request);
    if (plan.ok()) return std::move(*plan);
  }
}

// Where a submodel at its fewest bits has a plan in a memory, there is one: none is sought for more
// than the memory holds beside rows and a fallback.
TEST(RandomRequests, AMemoryThatASmallPlanKeepsIsNotRefused) {
  Random random(74);
  int guaranteed = 0;
  int with_words = 0;
  for (int done = 0; done < 600;) {
    SecondWorld drawn(random);
    const Plan plan = NextAlone(random, &drawn);
    PlanRequest small = drawn.request;
    small.submodel = {static_cast<uint32_t>(plan.layers.size()), plan.width};
    small.uniform_bits = drawn.world.catalog.bits.front();
    const Result<Plan> least = MakePlan(drawn.Input(), small);
    if (!least.ok() || least->predicted_peak_bytes >= plan.predicted_peak_bytes) continue;
    const uint64_t between = plan.predicted_peak_bytes - least->predicted_peak_bytes;
    small.judging.memory_bytes =
        least->predicted_peak_bytes + random.Below(static_cast<uint32_t>(between));
    const Result<Plan> fits = MakePlan(drawn.Input(), small);
    if (!fits.ok()) continue;
    ++done;
    guaranteed += fits->fallback ? 1 : 0;
    with_words += fits->words.empty() ? 0 : 1;
    drawn.request.judging.memory_bytes = small.judging.memory_bytes;
    const Result<Plan> bounded = MakePlan(drawn.Input(), drawn.request);
    ASSERT_TRUE(bounded.ok()) << drawn.Name() << ": " << bounded.error().Message();
    ASSERT_LE(bounded->predicted_peak_bytes, *small.judging.memory_bytes) << drawn.Name();
  }
  EXPECT_GT(guaranteed, 50);
  EXPECT_GT(with_words, 50);
}

// A refusal names the least target that would do, of whatever is asked for besides, at one clock
// and without rows of words, which the plan without them does not count on.
TEST(RandomRequests, TheLeastTargetOfARefusalIsEnoughAndNoMore) {
  Random random(76);
  int woken = 0;
  for (int done = 0; done < 600;) {
    SecondWorld drawn(random);
    PlanRequest& request = drawn.request;
    drawn.world.importance.word_use = {};
    const bool other = drawn.asked == Asked::kCascade || drawn.asked == Asked::kClocks ||
                       request.guarantee() || request.io_budget_bytes || request.min_accuracy;
    if (other || request.strategy != Strategy::kSti || !request.target_us) continue;
    request.target_us = *request.target_us * (1 + random.Below(8)) / 10;
    const Result<Plan> refused = MakePlan(drawn.Input(), request);
    if (refused.ok()) continue;
    const std::string words = "smallest feasible target is ";
    const std::string message = refused.error().Message();
    const size_t at = message.find(words);
    if (at == std::string::npos) continue;
    ++done;
    woken += request.wake_us > 0 ? 1 : 0;
    const double least_us = std::stod(message.substr(at + words.size())) * 1000;
    request.target_us = 1.001 * least_us;
    EXPECT_TRUE(MakePlan(drawn.Input(), request).ok()) << drawn.Name() << ": " << message;
    request.target_us = 0.997 * least_us - 2;
    EXPECT_FALSE(MakePlan(drawn.Input(), request).ok()) << drawn.Name() << ": " << message;
  }
  EXPECT_GT(woken, 30);
}

// A picture of a plan, or of an input that goes through all levels of its cascade, ends when the
// plan says.
TEST(RandomRequests, ATimelineEndsWhenThePlanSays) {
  Random random(75);
  int cascades = 0;
  int bounded = 0;
  for (int done = 0; done < 1200;) {
    SecondWorld drawn(random);
    Result<Plan> plan = MakePlan(drawn.Input(), drawn.request);
    if (plan.ok() && random.Below(2) == 0) {
      drawn.request.judging.memory_bytes =
          plan->predicted_peak_bytes -
          std::min<uint64_t>(plan->predicted_peak_bytes, uint64_t{4096} * random.Below(40));
      plan = MakePlan(drawn.Input(), drawn.request);
    }
    if (!plan.ok()) continue;
    ++done;
    const auto& cascade = plan->cascade;
    cascades += cascade ? 1 : 0;
    bounded += cascade && drawn.request.judging.memory_bytes ? 1 : 0;
    const double median_us = cascade ? cascade->path_us.back() : plan->predicted_latency_us;
    const double p99_us = cascade ? cascade->worst_path_us : plan->predicted_p99_us;
    for (const auto& [risk, end_us] :
         {std::pair(Risk::kMedian, median_us), std::pair(Risk::kP99, p99_us)}) {
      const auto timeline = PlayPlan(drawn.Input(), drawn.request.judging, *plan, risk);
      ASSERT_TRUE(timeline.ok()) << drawn.Name() << ": " << timeline.error().Message();
      ASSERT_NEAR(timeline->latency_us, end_us, 1e-6 * end_us) << drawn.Name();
    }
  }
  EXPECT_GT(cascades, 50);
  EXPECT_GT(bounded, 10);
}

TEST(RandomRequests, EachLengthAndClockThatWasAskedForIsInThePlan) {
  Random random(73);
  int refused = 0;
  int made = 0;
  for (int done = 0; done < 1200; ++done) {
    SecondWorld drawn(random);
    PlanRequest& request = drawn.request;
    if (drawn.asked == Asked::kClocks && random.Below(2) == 0) request.length = 0;
    const Result<Plan> plan = MakePlan(drawn.Input(), request);
    refused += plan.ok() ? 0 : 1;
    made += plan.ok() ? 1 : 0;
    if (!plan.ok()) continue;
    std::set<std::pair<uint32_t, uint64_t>> planned = {{plan->length, plan->freq.value_or(0)}};
    for (const PlanCore& variant : plan->variants) {
      planned.emplace(variant.length, variant.freq.value_or(0));
      EXPECT_EQ(variant.target_us, plan->target_us) << drawn.Name();
    }
    EXPECT_EQ(plan->target_us, request.target_us ? request.target_us : plan->target_us);
    std::vector<uint32_t> lengths = request.further_lengths;
    lengths.push_back(128);
    std::vector<uint64_t> clocks = request.clocks;
    if (clocks.empty()) clocks = {plan->freq.value_or(0)};
    for (const uint32_t length : lengths) {
      for (const uint64_t clock : clocks) {
        EXPECT_TRUE(planned.contains({length, clock}))
            << drawn.Name() << ": " << length << " tokens at " << clock << " kHz";
      }
    }
  }
  EXPECT_GT(made, 300);
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace sti::test
