// Plans of models that continue texts: the words of the head, the memory of a context, and the
// passes of one token.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "plan/judge.h"
#include "plan/planned_run.h"
#include "plan/planner.h"
#include "plan/timeline.h"
#include "support/expect.h"
#include "types/plan_check.h"
#include "world.h"

namespace sti {
namespace {

constexpr uint64_t kBlock = 4096;
constexpr uint32_t kRowBytes = 10 * kBlock;
constexpr uint64_t kWordBytes = 100 * kRowBytes;
constexpr uint64_t kTokenBytes = 64;  // of keys and values
constexpr uint64_t kWorking = 100 * kBlock;

/// Reads take 1 us a block; a layer of 128 tokens 100 us, of one token 10. Of the 100 words 25 come
/// at once, in 250 us.
struct ContextWorld {
  test::World world{2, 1, {2, 4}, {40 * kBlock, 80 * kBlock}};
  ColdBytes bytes{16 * kBlock, 50 * kBlock, 4 * kBlock, 300 * kBlock, {20 * kBlock, 30 * kBlock}};

  ContextWorld() {
    world.info.elastic = false;
    world.info.depth_layers = {{0}, {0, 1}};
    world.info.shape.causal = true;
    world.info.head.output = HeadOutput::kNextToken;
    world.info.tokenizer.has_frame = false;
    world.profile.compute = {{1, 1, 10, 10, 0}, {128, 1, 100, 100, 0}};
    world.profile.io = {{kBlock, 0, 1, 1}, {1000 * kBlock, 0, 1000, 1000}};
    world.profile.fixed = {{1, 1, 10, 8, 0, 0, 0}, {128, 5, 10, 8, 0, 0, 0}};
    world.profile.start_us = 1000;
    world.profile.read_bytes = 12 * kRowBytes;
    world.profile.process_bytes = kBlock;
    world.row_bytes = kRowBytes;
  }
  [[nodiscard]] PlanInput input() const {
    PlanInput input = world.input();
    input.importance = nullptr;
    input.cold = &bytes;
    input.memory.working = [](const PlanExtent& extent) {
      return kWorking + extent.context * extent.depth * kTokenBytes +
             (extent.keeps_vocabulary ? kWordBytes : 0);
    };
    return input;
  }
  [[nodiscard]] Plan Make(const PlanRequest& request) const {
    auto plan = MakePlan(input(), request);
    EXPECT_TRUE(Succeeded(plan));
    return plan.ok() ? *plan : Plan();
  }
};

PlanRequest AtTwoBits() {
  PlanRequest request;
  request.submodel = {2, 1};
  request.uniform_bits = 2;
  return request;
}

// In so little memory that words are read.
PlanRequest Streamed() {
  PlanRequest request = AtTwoBits();
  request.judging.memory_bytes = kWordBytes;
  return request;
}

size_t Count(const PlanTimeline& timeline, LaneSpan::Kind kind) {
  return static_cast<size_t>(std::ranges::count(timeline.events, kind, &PlanEvent::kind));
}

TEST(Context, WordsThatAreReadArePlayedAsByHand) {
  const ContextWorld world;
  const Plan plan = world.Make(Streamed());
  // Rows 10, embedded at 15. Layers are there at 50 and 90, done at 150 and 250. The words of the
  // head come at 340, 590, 840 and 1090, and each group of them takes 2.
  EXPECT_NEAR(plan.predicted_latency_us, 1092, 1e-9);
  EXPECT_FALSE(plan.keeps_vocabulary);
  ASSERT_TRUE(plan.times);
  EXPECT_NEAR(plan.times->head_io_us, 1000, 1e-9);
  EXPECT_NEAR(plan.times->embed_io_us, 10, 1e-9);
  const auto timeline = PlayPlan(world.input(), Streamed().judging, plan);
  ASSERT_TRUE(Succeeded(timeline));
  EXPECT_NEAR(timeline->latency_us, 1092, 1e-9);
  EXPECT_EQ(Count(*timeline, LaneSpan::Kind::kHead), 1U);
  ASSERT_EQ(Count(*timeline, LaneSpan::Kind::kResident), 1U);
  const auto words =
      std::ranges::find(timeline->events, LaneSpan::Kind::kResident, &PlanEvent::kind);
  EXPECT_NEAR(words->start_us, 90, 1e-9);
  EXPECT_NEAR(words->end_us, 1090, 1e-9);
}

TEST(Context, WordsThatStayCostNoReadsAndNoneOfRows) {
  const ContextWorld world;
  const Plan plan = world.Make(AtTwoBits());
  // Embedded at 5. Layers are there at 40 and 80, done at 140 and 240.
  EXPECT_NEAR(plan.predicted_latency_us, 248, 1e-9);
  EXPECT_TRUE(plan.keeps_vocabulary);
  ASSERT_TRUE(plan.times);
  EXPECT_EQ(plan.times->head_io_us, 0);
  EXPECT_EQ(plan.times->embed_io_us, 0);
}

TEST(Context, AColdStartReadsTheWordsThatStay) {
  const ContextWorld world;
  PlanRequest request = AtTwoBits();
  request.mode = PlanRequest::Cold{};
  const Plan plan = world.Make(request);
  // 1000 own work, 66 index and vocabulary, 14 rows and embedding, done at 1085. Layers are there
  // at 1140 and 1210, done at 1240 and 1340. The head's part is there at 1510, its words at 1760,
  // 2010, 2260 and 2510.
  EXPECT_NEAR(plan.predicted_latency_us, 2512, 1e-9);
  EXPECT_TRUE(plan.keeps_vocabulary);
  EXPECT_TRUE(plan.variants.empty()) << "a process starts once";
}

// The target counts for the prompt and for each token: the head's words are in the budgets.
TEST(Context, ATargetHoldsWithTheWordsAndNotBelow) {
  const ContextWorld world;
  PlanRequest request = Streamed();
  // Budgets count the embedding as if nothing were read beside it.
  request.target_us = 1097;
  EXPECT_TRUE(world.Make(request).meets_target);
  request.target_us = 1096;
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), request), ErrorKind::kInfeasible, "1.097ms"));
  request = AtTwoBits();
  request.uniform_bits.reset();
  request.target_us = 265;
  const Plan most = world.Make(request);
  EXPECT_EQ(most.bits.At(0, 0) + most.bits.At(1, 0), 6U) << "40 us of the first 80 wait for none";
}

TEST(Context, WordsStayWhereMemoryHasRoomForThemBesideTheRest) {
  const ContextWorld world;
  PlanRequest request = AtTwoBits();
  const Plan free = world.Make(request);
  const uint64_t least = free.predicted_peak_bytes - *free.staging_bytes + 40 * kBlock;
  request.judging.memory_bytes = least + 251 * kBlock;
  EXPECT_TRUE(world.Make(request).keeps_vocabulary);
  request.judging.memory_bytes = least - kBlock;
  std::vector<std::string> lines;
  const auto plan = MakePlan(world.input(), request, &lines);
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_FALSE(plan->keeps_vocabulary);
  EXPECT_LE(plan->predicted_peak_bytes, *request.judging.memory_bytes);
  EXPECT_NE(lines.front().find("4096000 bytes, are read in each pass"), std::string::npos)
      << lines.front();
  // A group of words is in staging at once, however small the layers.
  EXPECT_GE(plan->staging_bytes.value_or(0), 251 * kBlock);
  request.judging.memory_bytes = kWorking + 200 * kBlock;
  EXPECT_TRUE(
      FailedWith(MakePlan(world.input(), request), ErrorKind::kInfeasible, "no submodel fits in"));
}

TEST(Context, ATokenRunsUnderAVariantOfThePlansOwnShards) {
  const ContextWorld world;
  PlanRequest request = AtTwoBits();
  request.context = 200;
  request.preload_bytes = 40 * kBlock;
  request.wake_us = 30;
  request.target_us = 1000;
  const Plan plan = world.Make(request);
  EXPECT_EQ(plan.length, 128U);
  EXPECT_EQ(plan.context, 200U);
  EXPECT_EQ(plan.Extent().context, 200U);
  ASSERT_EQ(plan.variants.size(), 1U);
  const PlanCore& token = plan.variants[0];
  EXPECT_EQ(token.length, 1U);
  EXPECT_EQ(token.context, 200U);
  EXPECT_EQ(token.bits, plan.bits);
  EXPECT_EQ(token.preload, plan.preload);
  EXPECT_FALSE(token.wake_us) << "it comes right behind another";
  // The second layer is there at 40; each takes 10, the embedding 1.
  EXPECT_NEAR(token.predicted_latency_us, 40 + 10 + 8, 1e-9);
  EXPECT_EQ(FindPlanFault(plan, {}), std::nullopt);
  // A request of the plan makes it anew.
  const auto again = RequestOf(plan, world.world.info);
  ASSERT_TRUE(Succeeded(again));
  EXPECT_EQ(again->context, 200U);
  EXPECT_EQ(world.Make(*again).context, 200U);
}

TEST(Context, LengthsAndContextBoundEachOther) {
  const ContextWorld world;
  PlanRequest request = AtTwoBits();
  EXPECT_EQ(world.Make(request).context, 128U) << "as long as its inputs";
  request.context = 60;
  EXPECT_EQ(world.Make(request).length, 60U) << "no prompt is longer";
  request.length = 61;
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), request), ErrorKind::kUsage, "prompt"));
  request.length = 20;
  request.further_lengths = {20, 10};
  const Plan plan = world.Make(request);
  EXPECT_EQ(plan.length, 20U);
  ASSERT_EQ(plan.variants.size(), 2U);
  EXPECT_EQ(plan.variants[0].length, 10U);
  EXPECT_EQ(plan.variants[1].length, 1U);
  request.context = 513;
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), request), ErrorKind::kUsage, "512 positions"));
}

TEST(Context, IsOfModelsThatContinueTextsAndWithoutWhatIsForLabels) {
  ContextWorld world;
  PlanRequest request = AtTwoBits();
  request.mode = PlanRequest::Turns{2, {}};
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), request), ErrorKind::kUsage, "for labels"));
  request.mode = PlanRequest::Guaranteed{};
  request.target_us = 5000;
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), request), ErrorKind::kUsage, "for labels"));
  request.mode = PlanRequest::Warm{};
  request.min_accuracy = 0.5;
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), request), ErrorKind::kUsage, "nothing measures"));
  world.world.info.head.output = HeadOutput::kLabels;
  request = AtTwoBits();
  request.context = 100;
  EXPECT_TRUE(FailedWith(MakePlan(world.input(), request), ErrorKind::kUsage, "continues no"));
}

}  // namespace
}  // namespace sti
